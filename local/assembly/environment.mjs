// One execution environment of a function: loads its package, then handles one event after the other. Plain JavaScript, since
// it runs in a thread of its own, from the sources as well as from the package.
//
//   from parent   {event, deadline, requestId, arn}    event: JSON text; deadline: epoch ms
//   to parent     {ready: true} once, then per event {payload} or {error: {errorType, errorMessage, trace}}
import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';

const { file, exportName, endpoint, api, clock } = workerData;

// The backbone's clock: the host's, and how far it was set ahead.
const aheadMs = new Float64Array(clock);
const HostDate = Date;
const now = () => HostDate.now() + aheadMs[0];
globalThis.Date = new Proxy(HostDate, {
  construct: (target, values, made) => Reflect.construct(target, values.length === 0 ? [now()] : values, made),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

/** Where a host of AWS is here; undefined: it is none. */
function standIn(host) {
  if (host === api.host) return new URL(api.url);
  return host?.endsWith('.amazonaws.com') ? new URL(endpoint) : undefined;
}

// What would leave for AWS goes to what stands in for it, over plain HTTP.
const { request } = https;
https.request = (...args) => {
  const [options] = args;
  const here = standIn(options?.hostname ?? options?.host);
  if (!here) return request(...args);
  const { agent: _, ...rest } = options;
  return http.request(
    { ...rest, protocol: 'http:', hostname: here.hostname, host: here.hostname, port: here.port },
    ...args.slice(1),
  );
};
syncBuiltinESMExports();
const { fetch } = globalThis;
globalThis.fetch = (resource, init) => {
  const url = new URL(resource instanceof Request ? resource.url : resource);
  const here = standIn(url.host);
  if (!here) return fetch(resource, init);
  const headers = new Headers(init?.headers ?? (resource instanceof Request ? resource.headers : undefined));
  headers.set('x-forwarded-host', url.host);
  return fetch(new URL(url.pathname + url.search, here), { ...init, headers });
};

const module = await import(file);
const handler = module[exportName] ?? module.default?.[exportName];

parentPort.on('message', async ({ event, deadline, requestId, arn }) => {
  try {
    if (typeof handler !== 'function') {
      throw Object.assign(new Error(`${exportName} is undefined or not exported`), { name: 'Runtime.HandlerNotFound' });
    }
    const result = await handler(JSON.parse(event), contextOf(deadline, requestId, arn));
    parentPort.postMessage({ payload: JSON.stringify(result) ?? 'null' });
  } catch (error) {
    const { name, message, stack } = error instanceof Error ? error : { name: typeof error, message: String(error) };
    parentPort.postMessage({ error: { errorType: name, errorMessage: message, trace: stack?.split('\n') ?? [] } });
  }
});
parentPort.postMessage({ ready: true });

function contextOf(deadline, awsRequestId, invokedFunctionArn) {
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: process.env.AWS_LAMBDA_FUNCTION_VERSION,
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: process.env.AWS_LAMBDA_LOG_STREAM_NAME,
    invokedFunctionArn,
    awsRequestId,
    getRemainingTimeInMillis: () => Math.max(0, deadline - HostDate.now()),
  };
}
