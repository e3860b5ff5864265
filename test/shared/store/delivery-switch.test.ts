import { LambdaClient, UpdateEventSourceMappingCommand } from '@aws-sdk/client-lambda';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { DeliverySwitch } from '../../../shared/store/delivery-switch.ts';

const client = new LambdaClient({ region: 'us-east-1' });
const lambda = mockClient(client);
const named = (name: string) => Object.assign(new Error(name), { name });

describe('what wakes deliveries', () => {
  beforeEach(() => lambda.reset());
  const sources = new DeliverySwitch(client, ['a', 'b'], 0);

  it('is switched as one', async () => {
    await sources.switch(true);
    const inputs = lambda.commandCalls(UpdateEventSourceMappingCommand).map(({ args }) => args[0].input);
    expect(inputs).toEqual([
      { UUID: 'a', Enabled: true },
      { UUID: 'b', Enabled: true },
    ]);
  });

  it('is tried again while it is being switched, and not for ever', async () => {
    const busy = named('ResourceInUseException');
    lambda.on(UpdateEventSourceMappingCommand).rejectsOnce(busy).rejectsOnce(busy).resolves({});
    await sources.switch(false);
    expect(lambda.calls()).toHaveLength(4);
    lambda.on(UpdateEventSourceMappingCommand).rejects(busy);
    await expect(sources.switch(false)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('that is not there is a fault of the deployment, told as it is', async () => {
    lambda.on(UpdateEventSourceMappingCommand).rejects(named('ResourceNotFoundException'));
    await expect(sources.switch(true)).rejects.toThrow('ResourceNotFoundException');
  });
});
