/**
 * What workspaces have pulled, a file for each reference: `pulled/<workspace>/<encoded reference>.json`. A workspace finds only what
 * it has pulled itself, that is, what the registry has shown to its own credentials; trees below are shared by all.
 */
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ids } from '../../../shared/ids.ts'
import { parse, s, type Out } from '../../../shared/schema.ts'
import { writeDurably } from '../../base/durable.ts'
import { entries, readJson } from './layout.ts'

const shape = s.object({
  /** In one form (`remoteOf`), and its parts. */
  reference: s.string(),
  host: s.string(),
  repository: s.string(),
  /** The tree's: that of the manifest for this machine. */
  digest: s.string().check(s.regex(/^[0-9a-f]{64}$/)),
  /** Bytes of its layers, unpacked. */
  size: s.int(),
  pulledAt: s.int(),
  /** Which credential it was read with, '' for none: what anybody can read stays as it is. */
  credential: s.string(),
  /** When the registry last showed it to that credential. */
  checkedAt: s.int(),
})
export type Pulled = Out<typeof shape>

export interface PulledImages {
  get(workspace: string, reference: string): Promise<Pulled | undefined>
  /** Of a workspace, by reference. */
  list(workspace: string): Promise<Pulled[]>
  /** Names of those that have pulled anything. */
  workspaces(): Promise<string[]>
  /** Of all workspaces. */
  every(): Promise<Pulled[]>
  put(workspace: string, pulled: Pulled): Promise<void>
  remove(workspace: string, reference: string): Promise<void>
}

export const pulledImages = (own: string, ids: Ids): PulledImages => {
  const root = join(own, 'pulled')
  const directory = (workspace: string) => join(root, encodeURIComponent(workspace))
  const file = (workspace: string, reference: string) =>
    join(directory(workspace), `${encodeURIComponent(reference)}.json`)
  const read = async (path: string): Promise<Pulled | undefined> => {
    const value = await readJson(path)
    return value === undefined ? undefined : parse(shape, value, 'config')
  }
  const within = async (dir: string): Promise<Pulled[]> => {
    const files = (await entries(dir)).filter(name => name.endsWith('.json') && !name.startsWith('.')).sort()
    return (await Promise.all(files.map(name => read(join(dir, name))))).filter(one => one !== undefined)
  }
  return {
    get: (workspace, reference) => read(file(workspace, reference)),
    list: workspace => within(directory(workspace)),
    workspaces: async () => (await entries(root)).map(decodeURIComponent),
    async every() {
      const all = await Promise.all((await entries(root)).map(name => within(join(root, name))))
      return all.flat()
    },
    async put(workspace, pulled) {
      await mkdir(directory(workspace), { recursive: true, mode: 0o700 })
      await writeDurably(file(workspace, pulled.reference), JSON.stringify(pulled), ids)
    },
    remove: (workspace, reference) => rm(file(workspace, reference), { force: true }),
  }
}
