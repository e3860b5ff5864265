import { SUBJECT_BYTES_MAX } from './access-limits.ts';

/*
 * Who calls, as grants name it:
 *
 *   role:<account>:<role name>    whoever has assumed an IAM role, whatever the session's name
 *   user:<account>:<user name>    an IAM user
 *   federated:<account>:<name>    a session that an IAM user has made for somebody (GetFederationToken)
 *   root:<account>                an account's root user
 *   sub:<subject>                 whom the JWT issuer vouches for
 *   key:<id>                      an API key
 */
export type Principal = string;

/** Names of roles, users and federated sessions. Source: AWS, IAM and STS quotas, "IAM names". */
const NAME = '[A-Za-z0-9_+=,.@-]{1,64}';
const ARN = /^arn:aws[a-z-]*:(iam|sts)::(\d{12}):(.+)$/;
/** Session names have the same letters, and no slash. */
const SESSION = new RegExp(`^(assumed-role|federated-user)/(${NAME})(?:/[A-Za-z0-9_+=,.@-]+)?$`);
/** An ARN tells the path of a role or user, a session's does not: names alone are unique in an account, paths are not needed. */
const IDENTITY = new RegExp(`^(role|user)/(?:[!-~]+/)?(${NAME})$`);
const NAMED = new RegExp(`^(?:(?:role|user|federated):\\d{12}:${NAME}|root:\\d{12})$`);

/**
 * Who an ARN stands for: that of a caller, as the gateway tells it, or that of a role or a user.
 *
 * @returns undefined for whatever else it names
 */
export function principalOfArn(arn: string): Principal | undefined {
  const [, service, account, resource = ''] = ARN.exec(arn) ?? [];
  if (service === 'sts') {
    const [, kind, name] = SESSION.exec(resource) ?? [];
    return kind && `${kind === 'assumed-role' ? 'role' : 'federated'}:${account}:${name}`;
  }
  if (resource === 'root') return `root:${account}`;
  const [, kind, name] = IDENTITY.exec(resource) ?? [];
  return kind && `${kind}:${account}:${name}`;
}

/** @param subject claim `sub` of a token @returns undefined when it is not one that can be granted anything */
export function principalOfSubject(subject: string): Principal | undefined {
  const isWell = subject.length > 0 && subject.length <= SUBJECT_BYTES_MAX && /^[ -~]+$/.test(subject);
  return isWell ? `sub:${subject}` : undefined;
}

/** Whom a grant names: an ARN, or a principal as it is written here. @returns undefined for anything else */
export function grantedPrincipal(text: string): Principal | undefined {
  if (text.startsWith('sub:')) return principalOfSubject(text.slice('sub:'.length));
  return NAMED.test(text) ? text : principalOfArn(text);
}
