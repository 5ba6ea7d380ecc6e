/** What pages of other origins may send to the management API, and read of its answers. */
import type { WireNames } from '../../base/wire/names.ts'

const allowedHeaders = (names: WireNames): string =>
  [
    ...names.credentialHeaders,
    ...names.workspaceHeaders,
    ...names.versionHeaders,
    'content-type',
    'accept',
    'x-request-id',
    'cache-control',
    'user-agent',
    // Of the Model Context Protocol.
    ...['protocol-version', 'session-id', 'method', 'name'].map(name => `mcp-${name}`),
    'last-event-id',
    // What generated clients tell of themselves.
    ...[
      'lang',
      'package-version',
      'os',
      'arch',
      'runtime',
      'runtime-version',
      'retry-count',
      'timeout',
      'read-timeout',
    ].map(name => `x-stainless-${name}`),
  ].join(', ')

export const warningHeaders = (names: WireNames): string[] => names.headers('Warnings').map(name => name.toLowerCase())

/** What pages of other origins may send and read. */
export const corsHeaders = (names: WireNames) => {
  const read = ['x-request-id', 'www-authenticate', ...names.headers('Upload-Url'), ...warningHeaders(names)]
  const cors = {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': read.join(', ').toLowerCase(),
  }
  const preflight = {
    ...cors,
    'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
    'access-control-allow-headers': allowedHeaders(names),
    'access-control-max-age': '86400',
  }
  return { cors, preflight }
}
