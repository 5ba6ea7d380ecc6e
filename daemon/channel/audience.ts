/** Which routes and MCP tools answer whom. One without a line here answers the host alone. */
import { fail } from '../../shared/errors.ts'
import type { Caller } from './connections.ts'

/** `everyone`: tenants too. `clients`: those whom the gateway has let in, and the host. */
export type Audience = 'everyone' | 'clients' | 'host'

const admitted: Readonly<Record<Audience, readonly Caller[]>> = {
  everyone: ['tenant', 'client', 'host'],
  clients: ['client', 'host'],
  host: ['host'],
}

const everyone = [
  'codegen.fastapply',
  'codegen.reranking',
  'filesystem.archive.read',
  'filesystem.archive.write',
  'filesystem.content',
  'filesystem.delete',
  'filesystem.find',
  'filesystem.read',
  'filesystem.search',
  'filesystem.tree.delete',
  'filesystem.tree.read',
  'filesystem.tree.root.read',
  'filesystem.tree.root.write',
  'filesystem.tree.write',
  'filesystem.watch',
  'filesystem.write',
  'mcp.get',
  'mcp.post',
  'multipart.abort',
  'multipart.complete',
  'multipart.initiate',
  'multipart.list',
  'multipart.part',
  'multipart.parts',
  'network.monitor.start',
  'network.monitor.stop',
  'network.ports',
  'process.get',
  'process.kill',
  'process.list',
  'process.logs',
  'process.logs.stream',
  'process.start',
  'process.stdin.close',
  'process.stdin.write',
  'process.stop',
  'swagger.file',
  'swagger.root',
  'system.health',
  'system.panic',
  'system.welcome.delete',
  'system.welcome.get',
  'system.welcome.patch',
  'system.welcome.post',
  'system.welcome.put',
  'terminal.page',
  'terminal.socket',
] as const

const tools = [
  'codegenCodebaseSearch',
  'codegenEditFile',
  'codegenFileSearch',
  'codegenGrepSearch',
  'codegenListDir',
  'codegenParallelApply',
  'codegenReadFileRange',
  'codegenReapply',
  'codegenRerank',
  'fsDeleteFileOrDirectory',
  'fsEditFile',
  'fsGetWorkingDirectory',
  'fsListDirectory',
  'fsReadFile',
  'fsWriteFile',
  'processExecute',
  'processGet',
  'processGetLogs',
  'processKill',
  'processStop',
  'processesList',
] as const

const linesOf = (ids: readonly string[], audience: Audience) => ids.map(id => [id, audience] as const)

/** By the id of a route, or `mcp:` and the name of a tool. */
export const audiences: ReadonlyMap<string, Audience> = new Map<string, Audience>([
  ...linesOf(everyone, 'everyone'),
  ...linesOf(
    tools.map(name => `mcp:${name}`),
    'everyone',
  ),
  ['drives.list', 'clients'],
  ['drives.mount', 'clients'],
  ['drives.unmount', 'clients'],
  ['system.environment.reload', 'clients'],
  ['system.upgrade', 'clients'],
  ['tunnel.configure', 'clients'],
  ['tunnel.stop', 'clients'],
  ['host.claim', 'host'],
  ['host.configure', 'host'],
  ['host.identity', 'clients'],
  ['host.terminate', 'host'],
  ['system.activity', 'host'],
])

/** The HEAD routes only say that a route is there. */
const isProbe = (id: string): boolean => id.startsWith('probe.')

const audienceOf = (id: string): Audience => (isProbe(id) ? 'everyone' : (audiences.get(id) ?? 'host'))

export const mayCall = (id: string, caller: Caller): boolean => admitted[audienceOf(id)].includes(caller)

/** Throws `forbidden` when what has that id does not answer the caller. */
export const needAudience = (id: string, caller: Caller): void => {
  if (mayCall(id, caller)) return
  const through =
    audienceOf(id) === 'host' ? 'only to the host' : 'through the gateway only, not from the sandbox itself'
  throw fail('forbidden', { reason: `this endpoint answers ${through}` })
}
