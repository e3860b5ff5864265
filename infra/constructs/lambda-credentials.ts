/**
 * Stands in for `@aws-sdk/credential-provider-node` in the packages. That one looks for credentials in profiles, SSO
 * caches, web identities, subprocesses and metadata services as well, and brings the clients of four more services along:
 * a third of a package. In Lambda they are in the environment, for as long as the process lives.
 */
export function defaultProvider() {
  return async () => {
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
    if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) throw new Error('there are no credentials in the environment');
    return {
      accessKeyId: AWS_ACCESS_KEY_ID,
      secretAccessKey: AWS_SECRET_ACCESS_KEY,
      ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
    };
  };
}
