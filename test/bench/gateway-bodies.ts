/**
 * Large bodies through the gateway, against the same straight to what serves them and through the reverse proxy in Go.
 * The client is curl, one process each time, which costs less than what is measured.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { find, scratch, startScript } from './child.ts'
import { standInHost } from './stand-in.ts'
import { goProxy } from './go-proxy/build.ts'
import { inTurns, timeOf, type Bench } from './measure.ts'
import { row, type Row } from './report.ts'

const run = promisify(execFile)
const megabytes = 512
const rounds = 5

/** Megabytes a second of the best round: what else the machine does only makes it worse. */
const best = (samples: readonly number[] | undefined): number | undefined =>
  samples && megabytes / (Math.min(...samples) / 1000)

export const bodies = async (bench: Bench): Promise<Row[]> => {
  if (!find('curl')) {
    bench.skip('gateway.body.*', 'needs curl: apt-get install curl')
    return []
  }
  bench.say('large bodies')
  const dir = scratch(bench, 'bodies')
  const source = join(dir, 'source')
  await run('dd', ['if=/dev/zero', `of=${source}`, 'bs=1M', `count=${megabytes}`])
  const { said: upstream } = await startScript<number>(bench, new URL('upstream.ts', import.meta.url), [
    'bodies',
    `${megabytes}`,
  ])
  const host = await standInHost(bench, upstream)
  const go = await goProxy(bench, upstream)
  const options = ['-sSf', '-o', '/dev/null', '-H', 'expect:', '-H', `authorization: Bearer ${host.key}`]
  const down = (url: string) => () => timeOf(() => run('curl', [...options, url]))
  const up = (url: string) => () => timeOf(() => run('curl', [...options, '-T', source, url]))
  const urls = {
    straight: `http://127.0.0.1:${upstream}/body`,
    ours: `http://127.0.0.1:${host.port}/default/sandboxes/a/body`,
    ...(go ? { go: `http://127.0.0.1:${go.port}/body` } : {}),
  }
  const rows: Row[] = []
  for (const [name, way] of [
    ['down', down],
    ['up', up],
  ] as const) {
    const tasks = Object.fromEntries(Object.entries(urls).map(([who, url]) => [who, way(url)]))
    const { straight, ours, go: theirs } = await inTurns(rounds, tasks)
    const [mine = 0, gos] = [best(ours), best(theirs)]
    rows.push(row(`gateway.body.${name}`, mine, 'MB/s', best(straight) ?? null))
    if (gos !== undefined) rows.push(row(`gateway.body.${name}.against-go`, mine, 'MB/s', gos))
  }
  return rows
}
