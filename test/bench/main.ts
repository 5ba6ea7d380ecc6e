/**
 * Measures Hutch on this machine, beside what the same machine does without it, in the same run.
 *
 *     node test/bench/main.ts [--only host|warm|quota|tti|density|neighbour|daemon|bundle|process|files|beside|soak|gateway|management|egress|store] [--json] [--count number]
 *
 * The figures go to the standard output, progress to the standard error. Everything made is removed at the end, also
 * after a failure or a signal. Closes with 0 however the figures are; with 1 when something could not be run.
 */
import { closing, type Closing } from '../../shared/closing.ts'
import { messageOf } from '../../shared/errors.ts'
import { jsonLog } from '../../shared/log.ts'
import { besideBench } from './beside/index.ts'
import { bundleBench } from './bundle.ts'
import { densityBench } from './density.ts'
import { egressBench } from './egress.ts'
import { filesBench } from './files.ts'
import { gatewayBench } from './gateway.ts'
import { hostBench } from './host.ts'
import { managementBench } from './management.ts'
import type { Bench } from './measure.ts'
import { neighbourBench } from './neighbour.ts'
import { optionsOf, type Family } from './options.ts'
import { processBench } from './process.ts'
import { quotaBench } from './quota.ts'
import { jsonLines, table, type Row, type Skipped } from './report.ts'
import { soakBench } from './soak.ts'
import { storeBench } from './store.ts'
import { ttiBench } from './tti.ts'
import { warmBench } from './warm.ts'

const runs: Readonly<Record<Family, (bench: Bench, count?: number) => Promise<Row[]>>> = {
  host: hostBench,
  warm: warmBench,
  quota: quotaBench,
  tti: ttiBench,
  density: densityBench,
  neighbour: neighbourBench,
  bundle: bundleBench,
  process: processBench,
  files: filesBench,
  beside: besideBench,
  soak: soakBench,
  gateway: gatewayBench,
  management: managementBench,
  egress: egressBench,
  store: storeBench,
}

const write = (stream: NodeJS.WriteStream, lines: readonly string[]): void => {
  for (const line of lines) stream.write(`${line}\n`)
}

const run = async (): Promise<void> => {
  const { only, json, count } = optionsOf(process.argv.slice(2))
  const log = jsonLog({ level: 'warn', now: Date.now, write: line => void process.stderr.write(line) })
  let closer: Closing | undefined
  let stopped = false
  const stop = (signal: NodeJS.Signals) => {
    if (stopped) return
    stopped = true
    process.stderr.write(`bench: ${signal}: removing what was made\n`)
    void closer?.close().then(() => process.exit(130))
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  const from = performance.now()
  const say = (line: string) =>
    void process.stderr.write(`bench: ${((performance.now() - from) / 1000).toFixed(0).padStart(3)} s  ${line}\n`)
  const rows: Row[] = []
  const skipped: Skipped[] = []
  for (const family of only) {
    const current = closing({ log, boundMs: 60_000 })
    closer = current
    try {
      say(family)
      const found = await runs[family](
        {
          say: line => say(`${family}: ${line}`),
          later: current.add,
          skip: (name, reason) => void skipped.push({ name, skipped: reason }),
        },
        count,
      )
      rows.push(...found)
      if (json) write(process.stdout, jsonLines(found))
    } catch (error) {
      if (!stopped) {
        process.exitCode = 1
        skipped.push({ name: family, skipped: `it failed: ${messageOf(error)}` })
        say(`${family} failed: ${error instanceof Error ? error.stack : String(error)}`)
      }
    }
    await current.close()
    // A signal ends the process when everything is removed.
    if (stopped) return
  }
  write(process.stdout, json ? jsonLines([], skipped) : table(rows, skipped))
}

run().catch(error => {
  process.stderr.write(`bench: ${messageOf(error)}\n`)
  process.exitCode = 2
})
