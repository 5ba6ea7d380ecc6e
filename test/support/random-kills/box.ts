/** How much of each thing an instance has on the box. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Names } from '../../../control/drivers/oci/names.ts'
import { loopsOf, traces } from '../oci.ts'
import type { Server } from '../server.ts'

/** What is mounted of a data directory, seen by this process. */
export const mountsOf = (word: string): string[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter(line => line.includes(word))

/** Processes with that word in their command line, variables or control group. */
export const processesWith = (word: string): string[] =>
  readdirSync('/proc')
    .filter(pid => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .filter(pid => {
      try {
        // One that has ended keeps the name of its group until whoever inherited it looks.
        if (/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return false
        return ['cmdline', 'environ', 'cgroup'].some(file =>
          readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(word),
        )
      } catch {
        // It ended meanwhile.
        return false
      }
    })

const promisedMb = async ({ call }: Server): Promise<number> => {
  const { text } = await call('GET', '/metrics')
  const found = /^hutch_storage_bytes\{state="promised"\} (\S+)$/m.exec(text)
  return Number(found?.[1] ?? Number.NaN) / 1024 ** 2
}

const kindOf = (trace: string): string =>
  /^(interface|namespace|cgroup) /.exec(trace)?.[1] ?? 'rule, claim or directory'

/** Slots of the network that are made ahead of machines, at most; they go and come. */
const slotsAhead = 8

/** A number for each kind of thing; the same before the first machine and after the last. */
export const census = async (s: Server): Promise<Record<string, number>> => {
  const counts: Record<string, number> = { interface: -slotsAhead, namespace: -slotsAhead }
  for (const trace of traces(s.names)) counts[kindOf(trace)] = (counts[kindOf(trace)] ?? 0) + 1
  return {
    ...counts,
    interface: Math.max(0, counts['interface'] ?? 0),
    namespace: Math.max(0, counts['namespace'] ?? 0),
    'machine directories': readdirSync(join(s.dataDir, 'machines')).length,
    outputs: readdirSync(join(s.dataDir, 'outputs')).length,
    loops: loopsOf(s.dataDir).length,
    mounts: mountsOf(s.dataDir).length,
    processes: processesWith(s.names.tag).length,
    'MB promised': await promisedMb(s),
  }
}

/** What is left of an instance that has stopped and has no machine. */
export const leftOf = ({ dataDir, names }: { dataDir: string; names: Names }): string[] => [
  ...readdirSync(join(dataDir, 'machines')),
  ...traces(names),
  ...loopsOf(dataDir),
  ...mountsOf(dataDir),
  ...[...processesWith(names.tag), ...processesWith(dataDir)].map(pid => `process ${pid}`),
]
