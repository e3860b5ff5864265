"""MiniStack 1.5.33 as it is, but for four things (docs/emulators.md).

- A batch of messages is sent, deleted, or made visible by the right to do so with one; it knows other rights.
- GetEventSourceMapping it takes for ListEventSourceMappings, and asks for a right that the call does not need: as with
  UpdateEventSourceMapping, which it does not know, no right is asked for.
- An event source that CloudFormation makes disabled is disabled, but said to be enabled.
- Under TLS it takes port 443, too, where it may.
"""

from ministack import app
from ministack.core import iam_actions
from ministack.services import lambda_svc

any_action_of = iam_actions.extract_iam_action
lambda_action_of = iam_actions._lambda_action
tell = lambda_svc._esm_response


def any_action(*args, **named):
    action = any_action_of(*args, **named)
    return action.removesuffix("Batch") if action and action.startswith("sqs:") else action


def lambda_action(method, path):
    _, _, mapping = path.partition("/event-source-mappings/")
    return None if mapping else lambda_action_of(method, path)


def tell_truly(esm):
    return tell({**esm, "State": "Disabled" if str(esm["Enabled"]).lower() == "false" else "Enabled"})


iam_actions.extract_iam_action = any_action
iam_actions._lambda_action = lambda_action
lambda_svc._esm_response = tell_truly
app._port_is_bindable = lambda *_: False
app.main()
