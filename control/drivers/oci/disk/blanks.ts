/**
 * Blank disks by size, made with the first machine of each: a copy of one is a file of some pages, where making a file system is a process
 * of its own. They are in memory with the other volatile state of the instance.
 */
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run, tool } from '../command.ts'
import { bytesPerMb, mkfsArguments } from './shape.ts'

export interface Blanks {
  /** Path of a blank disk of so many MB, which is there for a while at least. */
  of(mb: number): Promise<string>
}

/** Some hundred kilobytes each. */
const mostKept = 32

/** In the directory, which is made when it is needed. */
export const openBlanks = (directory: string): Blanks => {
  const underWay = new Map<number, Promise<void>>()

  const make = async (mb: number, path: string): Promise<void> => {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const made = `${path}.new`
    await writeFile(made, '', { mode: 0o600 })
    await truncate(made, mb * bytesPerMb)
    await run({ step: 'disk', file: tool('mkfs.ext4'), args: mkfsArguments(made) })
    await rename(made, path)
    await prune()
  }

  /** The oldest go. */
  const prune = async (): Promise<void> => {
    const names = (await readdir(directory)).filter(name => !name.endsWith('.new'))
    const found = await Promise.all(
      names.map(async name => ({ name, at: (await stat(join(directory, name))).mtimeMs })),
    )
    for (const { name } of found.toSorted((a, b) => b.at - a.at).slice(mostKept))
      await rm(join(directory, name), { force: true })
  }

  return {
    async of(mb) {
      const path = join(directory, String(mb))
      if (existsSync(path)) return path
      const making = underWay.get(mb) ?? make(mb, path).finally(() => underWay.delete(mb))
      underWay.set(mb, making)
      await making
      return path
    },
  }
}
