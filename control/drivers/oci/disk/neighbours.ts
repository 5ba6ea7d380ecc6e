/** What other servers of this box have promised on the disk that this one promises from: each tells in a file of its volatile state. */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errno, fail } from '../../../../shared/errors.ts'
import { parse, s } from '../../../../shared/schema.ts'
import { isMachineId } from '../layout.ts'
import type { Claimant } from '../registry.ts'
import { bytesPerMb } from './shape.ts'
import { usedBytes } from './used.ts'

export interface Neighbours {
  /** Tells what this server has promised, MB by machine, and how much more it may promise without a word; the others know at once. */
  tell(promised: ReadonlyMap<string, number>, aheadMb: number): void
  /** What the others' machines have been promised and not written, MB. */
  owedMb(): Promise<number>
}

export interface NeighboursInput {
  readonly dataDir: string
  readonly tag: string
  readonly runDirOf: (tag: string) => string
  /** Every instance on the box. */
  readonly claimants: () => Promise<readonly Pick<Claimant, 'tag' | 'dataDir'>[]>
}

/** In the place of a machine's id, which no machine has. */
const ahead = 'ahead'

const fileIn = (runDir: string): string => join(runDir, 'promised.json')

const shape = s.record(s.string(), s.number())

/** Nothing of one that has gone, or has told nothing. */
const toldBy = (file: string): Record<string, number> => {
  try {
    return parse(shape, JSON.parse(readFileSync(file, 'utf8')), 'config')
  } catch (error) {
    if (errno(error) === 'ENOENT') return {}
    const reason = `${file} does not say what a server has promised; end that server, and remove it`
    throw fail('driver_failed', { driver: 'oci', step: 'promises', reason }, error)
  }
}

export const openNeighbours = ({ dataDir, tag, runDirOf, claimants }: NeighboursInput): Neighbours => {
  const device = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.dev
  // A server of a later version may promise to what is no machine.
  const usedMb = (other: string, id: string): number => (isMachineId(id) ? usedBytes(other, id) / bytesPerMb : 0)
  const owedBy = (other: { readonly tag: string; readonly dataDir: string }): number =>
    Object.entries(toldBy(fileIn(runDirOf(other.tag)))).reduce(
      (sum, [id, mb]) => sum + Math.max(0, mb - usedMb(other.dataDir, id)),
      0,
    )
  const file = fileIn(runDirOf(tag))
  mkdirSync(runDirOf(tag), { recursive: true, mode: 0o700 })
  return {
    tell(promised, aheadMb) {
      writeFileSync(`${file}.new`, JSON.stringify({ ...Object.fromEntries(promised), [ahead]: aheadMb }))
      renameSync(`${file}.new`, file)
    },
    async owedMb() {
      const here = device(dataDir)
      const others = (await claimants()).filter(other => other.tag !== tag && device(other.dataDir) === here)
      return others.reduce((sum, other) => sum + owedBy(other), 0)
    },
  }
}
