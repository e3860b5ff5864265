import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { firstSteps } from '../shared/wire/first-steps.ts';
import type { EventBackboneProps } from './constructs/backbone-props.ts';
import { EventBackbone } from './constructs/event-backbone.ts';

export interface BackboneStackProps extends StackProps, EventBackboneProps {
  /** ARN of the SNS topic that alarms tell, instead of an `alarmTopic`. */
  readonly alarmTopicArn?: string | undefined;
  /** ARN of the key by which stored data is encrypted, instead of an `encryptionKey`. */
  readonly encryptionKeyArn?: string | undefined;
}

/** One backbone in a stack of its own; its outputs say where it is and what to type first. */
export class BackboneStack extends Stack {
  constructor(scope: Construct, id: string, props: BackboneStackProps = {}) {
    super(scope, id, { description: 'Vertebra: an event backbone', ...props });
    const { alarmTopicArn, encryptionKeyArn, auth = 'iam' } = props;
    const alarmTopic =
      alarmTopicArn === undefined ? props.alarmTopic : Topic.fromTopicArn(this, 'AlarmTopic', alarmTopicArn);
    const encryptionKey =
      encryptionKeyArn === undefined ? props.encryptionKey : Key.fromKeyArn(this, 'EncryptionKey', encryptionKeyArn);
    const backbone = new EventBackbone(this, 'Backbone', { ...props, alarmTopic, encryptionKey });

    const signing = signingCurl(this.region);
    const [create, produce, read] = firstSteps(backbone.url, auth === 'iam' ? signing : BEARING_CURL);
    new CfnOutput(this, 'ApiUrl', { value: backbone.url, description: 'Base URL of the API' });
    if (backbone.functionUrl !== undefined) {
      new CfnOutput(this, 'FunctionUrl', {
        value: backbone.functionUrl,
        description: 'The same API, without the gateway',
      });
    }
    new CfnOutput(this, 'PushRoleArn', {
      value: backbone.pushRole.roleArn,
      description: 'Role by which records are pushed: what the policy of a target lets in',
    });
    if (auth === 'apiKey') {
      const everything =
        '{"topics": "*", "groups": "*", "targets": "*", "allow": ["admin", "produce", "consume", "subscribe"]}';
      new CfnOutput(this, 'Step0CreateKey', {
        value: `${signing} ${backbone.url}/v1/api-keys --json '{"name": "first", "rights": [${everything}]}'`,
        description: 'Makes an API key, which the others take from VERTEBRA_TOKEN',
      });
    }
    new CfnOutput(this, 'Step1CreateTopic', { value: create, description: 'Makes a topic' });
    new CfnOutput(this, 'Step2Produce', { value: produce, description: 'Produces a record' });
    new CfnOutput(this, 'Step3ReadBack', { value: read, description: 'Reads it back' });
  }
}

/** curl that shows an API key, or the token of an issuer. */
const BEARING_CURL = 'curl --header "Authorization: Bearer $VERTEBRA_TOKEN"';

/**
 * curl that signs with the credentials in the usual environment variables. The security token, which only temporary
 * credentials have, is one word with its option: zsh does not split what an expansion yields.
 */
function signingCurl(region: string): string {
  return [
    'curl',
    `--aws-sigv4 "aws:amz:${region}:execute-api"`,
    '--user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"',
    `\${AWS_SESSION_TOKEN:+-H"X-Amz-Security-Token: $AWS_SESSION_TOKEN"}`,
  ].join(' ');
}
