import { GetEventSourceMappingCommand, LambdaClient, UpdateEventSourceMappingCommand } from '@aws-sdk/client-lambda';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { DeliverySwitch } from '../../../shared/store/delivery-switch.ts';

const client = new LambdaClient({ region: 'us-east-1' });
const lambda = mockClient(client);
const named = (name: string) => Object.assign(new Error(name), { name });

describe('what wakes deliveries', () => {
  beforeEach(() => lambda.reset());
  const sources = new DeliverySwitch(client, ['a', 'b'], 0);

  const updates = () => lambda.commandCalls(UpdateEventSourceMappingCommand).map(({ args }) => args[0].input);

  it('is switched as one', async () => {
    lambda.on(GetEventSourceMappingCommand).resolves({ State: 'Disabled' });
    await sources.switch(true);
    expect(updates()).toEqual([
      { UUID: 'a', Enabled: true },
      { UUID: 'b', Enabled: true },
    ]);
  });

  it('is not switched where it is so already, or on its way there', async () => {
    lambda.on(GetEventSourceMappingCommand).resolvesOnce({ State: 'Enabled' }).resolves({ State: 'Enabling' });
    await sources.switch(true);
    lambda.on(GetEventSourceMappingCommand).resolvesOnce({ State: 'Disabled' }).resolves({ State: 'Disabling' });
    await sources.switch(false);
    expect(updates()).toEqual([]);
  });

  it('is tried again while it is being switched, and not for ever', async () => {
    const busy = named('ResourceInUseException');
    lambda.on(GetEventSourceMappingCommand).resolves({ State: 'Enabling' });
    lambda.on(UpdateEventSourceMappingCommand).rejectsOnce(busy).rejectsOnce(busy).resolves({});
    await sources.switch(false);
    expect(updates()).toHaveLength(4);
    lambda.on(UpdateEventSourceMappingCommand).rejects(busy);
    await expect(sources.switch(false)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it.each([
    [['Enabled', 'Enabled'], true, false],
    [['Disabled', 'Disabled'], false, true],
    [['Enabled', 'Disabled'], false, false],
    // These will be as somebody wished.
    [['Enabling', 'Enabled'], true, false],
    [['Disabling', 'Disabled'], false, true],
    [['Updating', 'Creating'], true, true],
  ])('in states %j is on: %s, is off: %s', async (states, on, off) => {
    const [first, second] = states;
    lambda.on(GetEventSourceMappingCommand, { UUID: 'a' }).resolves({ State: first! });
    lambda.on(GetEventSourceMappingCommand, { UUID: 'b' }).resolves({ State: second! });
    expect([await sources.is(true), await sources.is(false)]).toEqual([on, off]);
  });

  it('is not told by a Lambda that is asked too often', async () => {
    lambda.on(GetEventSourceMappingCommand).rejects(named('TooManyRequestsException'));
    await expect(sources.is(true)).rejects.toMatchObject({ code: 'throttled' });
  });

  it('that is not there is a fault of the deployment, told as it is', async () => {
    lambda.on(GetEventSourceMappingCommand).rejects(named('ResourceNotFoundException'));
    await expect(sources.switch(true)).rejects.toThrow('ResourceNotFoundException');
  });
});
