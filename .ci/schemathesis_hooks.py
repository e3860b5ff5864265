"""How schemathesis writes the bodies that are no JSON."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson", "application/vnd.kafka.recordbatch")
def as_bytes(context, value):
    """Text and bytes go as they are, anything else as JSON: the API looks at them either way."""
    if not isinstance(value, (str, bytes)):
        value = json.dumps(value)
    return {"data": value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")}
