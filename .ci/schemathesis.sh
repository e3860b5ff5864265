#!/usr/bin/env bash
# Sends what schemathesis makes of the OpenAPI page to a running backbone: no answer may be a failure of the server, of a
# status that the page does not tell, or unlike its schema, and what the page forbids must be refused. About a minute.
set -euo pipefail
cd "$(dirname "$0")/.."

version=4.32.5
venv=.cache/schemathesis-$version
if [ ! -x "$venv/bin/schemathesis" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version"
fi

log=.cache/schemathesis-backbone.log
: >"$log"
node local/start.mjs --memory --port 0 >"$log" 2>&1 &
backbone=$!
trap 'kill "$backbone" 2>/dev/null || true; wait "$backbone" 2>/dev/null || true' EXIT
for _ in $(seq 100); do
  grep -q 'Ctrl-C stops it' "$log" && break
  sleep 0.1
done
url=$(grep -o 'http://127\.0\.0\.1:[0-9]*' "$log" | head -n 1)

# A topic, a record and a group, so that the page's own examples find something.
curl --fail --silent --show-error -X PUT "$url/v1/topics/orders" >/dev/null
curl --fail --silent --show-error "$url/v1/topics/orders/records" -H 'Content-Type: application/json' \
  -d '{"records":[{"key":"order-17","value":1}]}' >/dev/null
curl --fail --silent --show-error "$url/v1/groups/billing/commits" -H 'Content-Type: application/json' \
  -d '{"offsets":[{"topic":"orders","partition":0,"offset":0}]}' >/dev/null

# Not asked: that what fits the schema is accepted. Offsets, tokens and batches may fit it and still be of no log.
checks=not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance
checks+=,response_schema_conformance,negative_data_rejection,unsupported_method,allow_header_conformance,use_after_free
SCHEMATHESIS_HOOKS=schemathesis_hooks PYTHONPATH=$PWD/.ci PYTHONDONTWRITEBYTECODE=1
export SCHEMATHESIS_HOOKS PYTHONPATH PYTHONDONTWRITEBYTECODE
cd .cache # it writes where it stands
timeout 180 "../$venv/bin/schemathesis" --config-file ../.ci/schemathesis.toml run "$url/v1/openapi.json" \
  --checks "$checks" --max-time 60 --request-timeout 30 --seed "${SCHEMATHESIS_SEED:-1}" --no-color --continue-on-failure

# What went wrong inside, the backbone tells itself.
if grep -E '^5[0-9][0-9] ' "../$log"; then exit 1; fi
