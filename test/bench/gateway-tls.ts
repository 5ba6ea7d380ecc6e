/** The same requests by HTTPS on kept connections, beside the plain ones, nginx and the Go proxy behind TLS, by turns. */
import { once } from 'node:events'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { testAuthority } from '../support/certificates.ts'
import { scratch } from './child.ts'
import { goProxy, noGo } from './go-proxy/build.ts'
import { openLoad } from './load.ts'
import type { Bench } from './measure.ts'
import { nginx, noNginx, proxyTo } from './nginx.ts'
import { percentile, row, type Row } from './report.ts'
import { standInHost } from './stand-in.ts'
import { askInTurns, newWay, perCore, roundMs, type Way } from './ways.ts'

const connections = 32

interface Place {
  readonly port: number
  readonly pid: number
  readonly path: string
  readonly key?: string
}

/** `plain` is the gateway without TLS. */
export const tlsRequests = async (bench: Bench, upstream: number, plain: Place): Promise<Row[]> => {
  bench.say(`${connections} connections with TLS`)
  const dir = scratch(bench, 'tls')
  const { ca, sign } = testAuthority(dir)
  const stem = join(dir, 'localhost')
  const pair = sign(stem, ['localhost'])
  const dial = (port: number) => async () => {
    const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca, ALPNProtocols: ['http/1.1'] })
    socket.setNoDelay(true)
    await once(socket, 'secureConnect')
    return socket
  }
  const way = async ({ port, pid, path, key }: Place, isSecure = true): Promise<Way> => {
    const headers = key ? { authorization: `Bearer ${key}` } : {}
    const how = isSecure ? { dial: dial(port) } : {}
    const load = await openLoad({ port, path, headers, connections, ...how })
    bench.later('connections', load.close)
    await load.run(roundMs)
    return newWay(load, pid)
  }
  const host = await standInHost(bench, upstream, { stem, ca })
  const ours = await way({ ...host, path: plain.path })
  const unsecured = await way(plain, false)
  const engine = await nginx(bench, ...proxyTo(upstream), pair)
  if (!engine) bench.skip('gateway.tls.*: floor and ratio', noNginx)
  const program = await goProxy(bench, upstream, pair)
  if (!program) bench.skip('gateway.tls.*.against-go', noGo)
  const theirs = engine && (await way({ port: engine.port, pid: engine.worker, path: '/health' }))
  const gos = program && (await way({ ...program, path: '/health' }))
  await askInTurns([ours, unsecured, theirs, gos].filter(one => one !== undefined))
  const name = 'gateway.tls.requests-per-core'
  const middle = (one: Way) => percentile(one.samples, 0.5)
  return [
    row(name, perCore(ours), 'req/s', theirs ? perCore(theirs) : null),
    ...(gos ? [row(`${name}.against-go`, perCore(ours), 'req/s', perCore(gos))] : []),
    row(`${name}.against-plain`, perCore(ours), 'req/s', perCore(unsecured)),
    ...(gos ? [row('gateway.tls.32.p50.against-go', middle(ours), 'ms', middle(gos))] : []),
  ]
}
