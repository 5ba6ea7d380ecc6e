/** Under what the rights of an access token are kept, beside API keys; no key has such a hash. */
export const grantHash = {
  client: (clientId: string): string => `client:${clientId}`,
  person: (grantId: string): string => `grant:${grantId}`,
}
