import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SQSClient } from '@aws-sdk/client-sqs';
import { onTestFinished } from 'vitest';
import { openTarget, type TargetPorts } from '../../functions/targets.ts';
import type { Target } from '../../shared/domain/delivery.ts';
import type { TargetSpec } from '../../shared/domain/target-spec.ts';

/** Ports that reach nobody. Loopback is allowed, as in the embedded backbone. */
export function targetPorts(rest: Partial<TargetPorts> = {}): TargetPorts {
  const config = { region: 'eu-central-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' }, maxAttempts: 1 };
  const [sqs, eventBridge] = [new SQSClient(config), new EventBridgeClient(config)];
  onTestFinished(() => {
    sqs.destroy();
    eventBridge.destroy();
  });
  return {
    functions: { invoke: () => Promise.reject(new Error('no function is to be called')) },
    sqs,
    eventBridge,
    rules: { loopback: true, ownHosts: [] },
    ...rest,
  };
}

export function target(spec: TargetSpec, ports: Partial<TargetPorts> = {}): Target {
  return openTarget(spec, targetPorts(ports));
}
