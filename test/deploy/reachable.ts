/** An emulator names hosts below `localhost`, which few resolvers know: it takes the API's id in the path as well. */
export function reachable(apiUrl: string, endpoint: string | undefined): string {
  const { hostname } = new URL(apiUrl);
  if (endpoint === undefined || !hostname.endsWith('.localhost')) return apiUrl;
  return `${endpoint.replace(/\/$/, '')}/_aws/execute-api/${hostname.split('.')[0]}`;
}
