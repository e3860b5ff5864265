import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';

/** A function that is called and not waited for. */
export class AsideFunction {
  readonly #client: Pick<LambdaClient, 'send'>;
  readonly #arn: string;

  constructor(client: Pick<LambdaClient, 'send'>, arn: string) {
    this.#client = client;
    this.#arn = arn;
  }

  /** @throws what the service refuses it with, or the network: it may have been called */
  async invoke(event: object): Promise<void> {
    const command = new InvokeCommand({
      FunctionName: this.#arn,
      InvocationType: 'Event',
      Payload: Buffer.from(JSON.stringify(event)),
    });
    await this.#client.send(command);
  }
}
