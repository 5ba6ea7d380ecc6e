/** What a client does about a missing credential: one of MCP reads from a document whom to ask for one. */
export const challengeOf = (protocol: 'mcp' | undefined, publicUrl: () => string): string =>
  protocol === 'mcp'
    ? `Bearer resource_metadata="${publicUrl()}/v0/.well-known/oauth-protected-resource/mcp"`
    : 'Bearer'
