import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { openEmbeddedAws } from '../local/aws/embedded-aws.ts';
import { createBackboneTables } from '../local/aws/tables.ts';
import { type Container, containerOf, TABLES } from './backbone.ts';

/** The engine's last answer to each kind of call, as the SDK hands it out and as it came over the wire. */
export interface Recording {
  readonly outputs: ReadonlyMap<string, object>;
  readonly responses: ReadonlyMap<string, object>;
}

type RequestHandler = ReturnType<Awaited<ReturnType<typeof openEmbeddedAws>>['clientConfig']>['requestHandler'];
type SdkRequest = Parameters<RequestHandler['handle']>[0];

/** Records what a real engine answers while `work` runs. */
export async function record(work: (container: Container) => Promise<void>): Promise<Recording> {
  const outputs = new Map<string, object>();
  const responses = new Map<string, object>();
  const aws = await openEmbeddedAws();
  const config = aws.clientConfig();
  const recorded = {
    ...handlerShape,
    async handle(request: SdkRequest) {
      const answer = await config.requestHandler.handle(request);
      responses.set(requestKind(request), answer);
      return answer;
    },
  };
  const dynamodb = new DynamoDBClient({ ...config, requestHandler: recorded });
  await createBackboneTables(dynamodb, TABLES);
  dynamodb.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const answer = await next(args);
        outputs.set(callKind(commandName, args.input), answer.output);
        return answer;
      },
    { step: 'initialize', name: 'benchRecorder' },
  );
  try {
    await work(containerOf(dynamodb));
  } finally {
    dynamodb.destroy();
    await aws.close();
  }
  return { outputs, responses };
}

/** A client that is none: every call is answered at once with what was recorded. The code that calls is the real one. */
export function silentClient({ outputs }: Recording): DynamoDBClient {
  const send = async (command: { input: object }) =>
    recordedOf(outputs, callKind(command.constructor.name, command.input));
  return Object.assign(new DynamoDBClient(CONFIG), { send });
}

/** The real client, which builds, signs and parses, over a network that is none. */
export function deafClient({ responses }: Recording): DynamoDBClient {
  const handle = async (request: SdkRequest) => recordedOf(responses, requestKind(request));
  return new DynamoDBClient({ ...CONFIG, requestHandler: { ...handlerShape, handle } as RequestHandler });
}

const CONFIG: DynamoDBClientConfig = {
  region: 'us-east-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
};

const handlerShape = {
  metadata: { handlerProtocol: 'http/1.1' },
  updateHttpClientConfig: () => {},
  httpHandlerConfigs: () => ({}),
};

/** Items of several kinds are got; of every other operation the functions under measurement make one kind of call. */
function callKind(command: string, input: object): string {
  const key = command === 'GetItemCommand' && 'Key' in input ? JSON.stringify(input.Key) : '';
  return command + key;
}

function requestKind({ headers, body }: SdkRequest): string {
  const operation = headers['x-amz-target']!;
  return operation.endsWith('.GetItem')
    ? operation + JSON.stringify(JSON.parse(new TextDecoder().decode(body as Uint8Array)).Key)
    : operation;
}

function recordedOf<T>(recorded: ReadonlyMap<string, T>, kind: string): T {
  const answer = recorded.get(kind);
  if (answer === undefined) throw new Error(`nothing was recorded for ${kind}`);
  return answer;
}
