/**
 * The small internet with a box beside it that a whole server runs on:
 *
 *     sandboxes ── box (a namespace, 10.250.0.2) ── world (the test itself, 10.250.0.1 and all addresses of the internet)
 */
import { writeFileSync } from 'node:fs'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority, makeAuthorityKeys, type Authority } from '../../../control/network/egress/ca/authority.ts'
import { systemClock } from '../../../shared/clock.ts'
import { server, type Server, type Teardowns } from '../server.ts'
import { shell } from '../tunnel-net.ts'
import { startNames, type Names } from './names.ts'
import { addresses } from './network.ts'
import { createLog, startServers, type Log, type Reached } from './servers.ts'

export interface World {
  readonly server: Server
  /** Where it runs: how whatever is to reach it is started. */
  readonly within: readonly string[]
  readonly names: Names
  readonly log: Log
  /** Signs certificates for further servers. */
  readonly authority: Authority
  /** What reached any server that holds the text, or was asked by that name. */
  reached(text: string): Reached[]
}

const { sandbox: _, neighbour: __, engine: ___, ...outside } = addresses
const box = '10.250.0.2'

const buildBox = (): void => {
  shell(`
    ${Object.values(outside)
      .map(address => `ip addr add ${address}/32 dev lo`)
      .join('\n')}
    ip netns add box
    ip link add w0 type veth peer name eth0 netns box
    ip addr add 10.250.0.1/30 dev w0
    ip link set w0 up
    ip -n box link set lo up
    ip -n box addr add ${box}/30 dev eth0
    ip -n box link set eth0 up
    ip -n box route add default via 10.250.0.1
  `)
}

/** To be called in a network namespace of its own. */
export const startWorld = async (t: Teardowns, env: Record<string, string> = {}): Promise<World> => {
  buildBox()
  const log = createLog()
  const keys = makeAuthorityKeys('World', Date.now())
  const authority = createAuthority(keys, { clock: systemClock() })
  const servers = await startServers(log, authority)
  t.teardown(servers.close)
  const names = await startNames(log)
  t.teardown(names.close)
  const dir = mkdtempSync(join(tmpdir(), 'hutch-world-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const caFile = join(dir, 'world.pem')
  writeFileSync(caFile, keys.certificate)
  const settings = { HUTCH_HOST: box, HUTCH_CA_FILE: caFile, HUTCH_EGRESS_RESOLVERS: addresses.dns, ...env }
  const within = ['nsenter', '--net=/run/netns/box']
  return {
    server: await server(t, settings, within),
    within,
    names,
    log,
    authority,
    reached: text => log.entries.filter(one => one.host.includes(text) || one.text.includes(text)),
  }
}
