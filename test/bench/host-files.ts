/** Large files in and out of a sandbox, straight at its daemon and through the gateway, against copying on the same disk. */
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { find, scratch } from './child.ts'
import type { MeasuredHost } from './host-server.ts'
import { inTurns, timeOf, type Bench } from './measure.ts'
import { row, type Row } from './report.ts'

const run = promisify(execFile)
const megabytes = 256
const rounds = 3

/** Megabytes a second of the best round. */
const best = (samples: readonly number[]): number => megabytes / (Math.min(...samples) / 1000)

export const filesThrough = async (bench: Bench, host: MeasuredHost): Promise<Row[]> => {
  const curl = find('curl')
  if (!curl) {
    bench.skip('host.file-*', 'needs curl: apt-get install curl')
    return []
  }
  bench.say('large files')
  const dir = scratch(bench, 'files')
  const [source, copy] = [join(dir, 'source'), join(dir, 'copy')]
  await run('dd', ['if=/dev/urandom', `of=${source}`, 'bs=1M', `count=${megabytes}`])
  // What a sandbox has in the page cache counts as its memory: the file fits, as it does for the one who copies.
  await host.create('files', 2_048)
  await host.exec('files', 'true')
  const [direct = ''] = await host.addresses()
  const daemon = `${direct}/filesystem/large.bin`
  const gateway = `${host.url}/default/sandboxes/files/filesystem/large.bin`
  const common = ['-sSf', '-H', `authorization: Bearer ${host.key}`]
  const write = (url: string) =>
    timeOf(() => run(curl, [...common, '-T', source, '-H', 'content-type: application/octet-stream', url]))
  const read = (url: string) => timeOf(() => run(curl, [...common, '-o', '/dev/null', `${url}?download=true`]))
  // A file that is written anew costs more than one whose pages are there: all begin without.
  const fresh = async (task: () => Promise<number>) => {
    rmSync(copy, { force: true })
    await host.exec('files', 'rm -f /large.bin')
    return task()
  }
  const samples = await inTurns(rounds, {
    copy: () => fresh(() => timeOf(() => run('cp', ['--reflink=never', source, copy]))),
    writeDaemon: () => fresh(() => write(daemon)),
    writeGateway: () => fresh(() => write(gateway)),
  })
  await write(daemon)
  const reads = await inTurns(rounds, {
    readDaemon: () => read(daemon),
    readGateway: () => read(gateway),
  })
  await host.remove(['files'])
  return [
    row('host.file-read.daemon', best(reads.readDaemon), 'MB/s', best(samples.copy)),
    row('host.file-read.gateway', best(reads.readGateway), 'MB/s', best(samples.copy)),
    row('host.file-write.daemon', best(samples.writeDaemon), 'MB/s', best(samples.copy)),
    row('host.file-write.gateway', best(samples.writeGateway), 'MB/s', best(samples.copy)),
  ]
}
