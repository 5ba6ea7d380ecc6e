/** Where a technology is at home: it is imported there and nowhere else, and the rest of the code does not know it. */

/** Packages, and the folders or files that may import them, types included. */
export const packageHomes: Readonly<Record<string, readonly string[]>> = {
  '@modelcontextprotocol/sdk': ['shared/mcp'],
  'acme-client': ['control/server/tls/acme'],
  '@peculiar/asn1-schema': ['control/network/egress/ca'],
  '@peculiar/asn1-x509': ['control/network/egress/ca'],
  'better-sqlite3': ['control/core/store/sqlite'],
  busboy: ['daemon/filesystem'],
  croner: ['control/core/kinds'],
  'dns-packet': ['control/server/tls/acme', 'control/network/egress/dns'],
  esbuild: ['images/runtime'],
  execa: [
    'control/server/tls/acme',
    'control/core/builds/builder',
    'control/cli',
    'control/core/images',
    'control/core/runtime',
    'images/package',
    'images/runtime',
  ],
  kysely: ['control/core/store/sqlite'],
  'prom-client': ['control/ops/metrics'],
  'oidc-provider': ['control/server/access/identity'],
  'node-pty': ['daemon/node-internals'],
  nodemailer: ['control/server/access/identity/mail'],
  'openid-client': ['control/server/access/identity/elsewhere'],
  'smol-toml': ['control/core/builds/recognise'],
  'tar-stream': [
    'control/core/builds/archive',
    'control/core/catalogues',
    'control/core/storage/volumes',
    'daemon/filesystem',
  ],
  'gpt-tokenizer': ['control/core/models'],
  undici: [
    'control/core/channel',
    'control/server/proxy/gateway',
    'control/core/images/pull',
    'control/core/models',
    'control/core/workloads/async',
    'shared/http/client',
  ],
  ws: ['daemon/terminal'],
  yauzl: ['control/core/builds/archive'],
  zod: ['shared/schema.ts'],
}

/** Packages that nothing imports: the types of Node, which are for the compiler of whoever uses the library. */
export const notImported: readonly string[] = [
  '@types/node',
  '@types/dns-packet',
  '@types/oidc-provider',
  '@types/nodemailer',
]

/** Node's own modules that reach out of the process or into its engine; their types may be named anywhere. */
export const moduleHomes: Readonly<Record<string, readonly string[]>> = {
  // Its `fork` copies the server: what runs for a sandbox is started by the driver's `process`.
  'node:child_process': [
    'control/ops/backup',
    'control/drivers/oci/probe',
    'control/drivers/oci/view',
    'control/core/runtime',
    'daemon/tunnel',
    'daemon/upgrade',
    'images/package',
    'images/runtime',
  ],
  'node:dns/promises': ['control/base/dns.ts'],
  'node:http': [
    'control/network/egress/http',
    'control/server/proxy/gateway',
    'control/core/workloads/async',
    'daemon/egress',
    'daemon/network',
    'daemon/node-internals',
    'images/runtime',
    'shared/http',
    'shared/lane',
  ],
  'node:https': [
    'control/server/tls/acme',
    'control/server/access/identity/provider',
    'control/core/workloads/async',
    'daemon/egress',
    'daemon/network',
  ],
  'node:v8': ['shared'],
  'node:vm': ['daemon/codegen', 'images/runtime', 'shared'],
}

/** What is read from the surroundings in one place each, and passed on from there. */
export const ambient: Readonly<Record<string, readonly string[]>> = {
  'process.env': ['control/main.ts', 'daemon/main.ts', 'images/runtime/main.ts'],
  'Date.now': ['images', 'shared/clock.ts'],
  'new Date()': [],
  'Math.random': [],
  console: ['images'],
}
