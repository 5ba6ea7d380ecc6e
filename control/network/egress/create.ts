/** Puts the engine together. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { closing } from '../../../shared/closing.ts'
import { fail } from '../../../shared/errors.ts'
import { smallestAllowList } from '../../../shared/policy/learn.ts'
import { createLastNet } from '../../base/last-net.ts'
import { createAskers } from './askers.ts'
import { boundedLog } from './bounded-log.ts'
import { createAuthority } from './ca/authority.ts'
import { createResolver } from './dns/resolver.ts'
import { serveDatagrams } from './datagrams/serve.ts'
import { mayGo } from './datagrams/judge.ts'
import { serveDns } from './dns/serve.ts'
import type { Egress, EgressDeps, EgressOptions } from './egress.ts'
import type { EventLogDeps } from './events/events.ts'
import type { Engine } from './engine.ts'
import { createFence } from './fence.ts'
import { headerNames } from './http/names.ts'
import { createHttpService, type HttpService } from './http/service.ts'
import { kernelRelay } from '../../base/relay/kernel-relay.ts'
import { noNeighbours, type Neighbours } from './neighbours.ts'
import { openPackageCache } from './packages/cache.ts'
import { streamRelay } from '../../base/relay/relay.ts'
import { createTenant, endConnections, endTenant, leaveFrom, partFrom, replacePolicy, type Tenant } from './tenant.ts'
import { createTenants } from './tenants.ts'
import { createUpstreamTls } from './tls/upstream-tls.ts'
import { serveTransparent } from './transparent.ts'

const defaults = { events: 1_000, connections: 1_024 } as const
const sweepMs = 5_000

const createEngine = (options: EgressOptions, deps: EgressDeps): Engine => {
  const { clock, ids, log, wireNames, sandboxOf, ownAddresses } = deps
  const { allowNetworks, closedNetworks = [] } = options
  const fence = createFence({ allowNetworks, closedNetworks, ownAddresses })
  let http: HttpService | undefined
  const engine: Engine = {
    clock,
    log: boundedLog(log, clock),
    fence,
    tenants: createTenants(sandboxOf),
    resolver: createResolver({ fence, servers: options.dnsServers }),
    names: headerNames(wireNames),
    proxy: options.proxy,
    packages: options.packages && openPackageCache(options.packages, deps),
    requestId: () => ids.uuid(),
    authority: createAuthority(options.authority, { clock }),
    upstreamTls: createUpstreamTls({ extraCa: options.extraCa }, { clock }),
    askers: createAskers(deps.processAt, { now: clock.now, log }),
    datagrams: { open: 0 },
    relay: options.relay === 'streams' ? streamRelay : kernelRelay(),
    maxConnections: options.connections ?? defaults.connections,
    get http() {
      return (http ??= createHttpService(engine))
    },
  }
  return engine
}

/** Takes a connection for its sandbox, within the sandbox's share; undefined and closed for any other. */
const take = (engine: Engine, socket: Socket): Tenant | undefined => {
  const tenant = engine.tenants.of(socket)
  if (!tenant || tenant.sockets.size + tenant.relayed >= engine.maxConnections) {
    tenant?.events.add({ kind: 'connection', verdict: 'blocked', reason: 'limit', host: '' })
    socket.destroy()
    return undefined
  }
  tenant.sockets.add(socket)
  engine.askers.look(tenant, socket)
  socket.once('close', () => tenant.sockets.delete(socket))
  return tenant
}

const listen = async (server: Server, port: number, host: string): Promise<number> => {
  server.listen(port, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const closeServer = (server: Server) => () => new Promise<void>(done => server.close(() => done()))

const found = (engine: Engine, sandbox: string): Tenant => {
  const tenant = engine.tenants.get(sandbox)
  if (!tenant) throw fail('not_found', { kind: 'outbound policy', name: sandbox })
  return tenant
}

/** The engine, listening. Closes what it has opened when it cannot start. */
export const createEgress = async (options: EgressOptions, deps: EgressDeps): Promise<Egress> => {
  const { clock, log } = deps
  const engine = createEngine(options, deps)
  const closer = closing({ log })
  const { guard } = deps.lastNet ?? createLastNet()
  const limits = { events: options.events ?? defaults.events }
  try {
    const proxy = createServer({ noDelay: true }, socket =>
      guard(socket, engine.log, () => {
        if (take(engine, socket)) engine.http.accept(socket)
      }),
    )
    closer.add('sandboxes', () => {
      for (const tenant of engine.tenants.all()) endTenant(tenant)
    })
    const ports = {
      proxy: await listen(proxy, options.ports.proxy, options.host),
      transparent: 0,
      dns: 0,
      datagrams: 0,
    }
    closer.add('proxy', closeServer(proxy))
    const transparent = createServer({ noDelay: true, pauseOnConnect: true }, socket =>
      guard(socket, engine.log, () => {
        const tenant = take(engine, socket)
        if (tenant) serveTransparent(engine, tenant, socket)
      }),
    )
    ports.transparent = await listen(transparent, options.ports.transparent, options.host)
    closer.add('transparent', closeServer(transparent))
    const dns = await serveDns(engine, options.host, options.ports.dns)
    ports.dns = dns.port
    closer.add('dns', dns.close)
    const datagrams = await serveDatagrams(engine, options.host, options.ports.datagrams)
    ports.datagrams = datagrams.port
    closer.add('datagrams', datagrams.close)
    closer.add(
      'sweep',
      clock.every(sweepMs, () => {
        for (const tenant of engine.tenants.all()) {
          tenant.pool.sweep()
          tenant.datagrams.sweep()
        }
      }),
    )
    return face(
      engine,
      ports,
      { limits, neighbours: deps.neighbours ?? noNeighbours, keeper: deps.keeper, after: clock.after },
      () => closer.close(),
    )
  } catch (error) {
    await closer.close()
    throw error
  }
}

interface FaceDeps extends Pick<EgressDeps, 'keeper'> {
  readonly limits: { readonly events: number }
  readonly neighbours: Neighbours
  readonly after: EventLogDeps['after']
}

const face = (
  engine: Engine,
  ports: Egress['ports'],
  { keeper, ...of }: FaceDeps,
  close: () => Promise<void>,
): Egress => ({
  ports,
  caCertificate: engine.authority.certificate,
  setPolicy(sandbox, policy, { sourceAddress } = {}) {
    const known = engine.tenants.get(sandbox)
    if (known) replacePolicy(known, policy)
    const tenant =
      known ??
      createTenant(sandbox, policy, { now: engine.clock.now, ...of, ...(keeper ? { kept: keeper(sandbox) } : {}) })
    leaveFrom(tenant, sourceAddress)
    engine.tenants.set(tenant)
  },
  letsDatagrams(sandbox, address, port) {
    const tenant = engine.tenants.get(sandbox)
    return tenant !== undefined && mayGo(engine, tenant, { address, port }).ok
  },
  disconnect(sandbox) {
    const tenant = engine.tenants.get(sandbox)
    if (tenant) endConnections(tenant)
    for (const other of engine.tenants.all()) partFrom(other, sandbox)
  },
  remove(sandbox) {
    const tenant = engine.tenants.get(sandbox)
    engine.tenants.delete(sandbox)
    if (tenant) endTenant(tenant)
    for (const other of engine.tenants.all()) partFrom(other, sandbox)
  },
  events: (sandbox, after, limit) => found(engine, sandbox).events.page(after, limit),
  follow: (sandbox, listener) => found(engine, sandbox).events.follow(listener),
  learned(sandbox, detail) {
    const { record } = found(engine, sandbox)
    return { allowedDomains: smallestAllowList(record.seen, detail), complete: !record.full }
  },
  close,
})
