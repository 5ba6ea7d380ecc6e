/** Addresses at the root of the host that stand for some of the API: where watchers look, and where clients look for discovery. */
import { watchersAddresses } from './health.ts'
import { authorizationServer, openIdConfiguration, protectedMcp, protectedResource } from './oauth-declarations.ts'

/** RFC 8414 (3.1) and RFC 9728 (3.1), for an issuer and resources at `/v0`; without it, for MCP's clients of March 2025. */
const discoveryAddresses: Readonly<Record<string, string>> = {
  '/.well-known/oauth-authorization-server': authorizationServer.path,
  '/.well-known/oauth-authorization-server/v0': authorizationServer.path,
  '/.well-known/openid-configuration': openIdConfiguration.path,
  '/.well-known/openid-configuration/v0': openIdConfiguration.path,
  '/.well-known/oauth-protected-resource': protectedResource.path,
  '/.well-known/oauth-protected-resource/v0': protectedResource.path,
  '/.well-known/oauth-protected-resource/v0/mcp': protectedMcp.path,
}

export const knownAddresses: Readonly<Record<string, string>> = { ...watchersAddresses, ...discoveryAddresses }
