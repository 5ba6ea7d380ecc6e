/** Layers of root file systems, looked at and changed by `walk-layer`, which a tenant's names and depths do not trouble. */
import { run } from '../command.ts'
import { stageDir } from '../names.ts'
import { program } from '../native/programs.ts'
import { idsPerMachine } from './ranges.ts'

interface Finding {
  readonly what: string
  readonly path: string
}

/** Findings of `walk-layer` on what is in a directory, or on the disk of a machine that does not run: its directories are looked for there. */
export const walkLayer = async (step: string, args: readonly string[], disk?: string): Promise<Finding[]> => {
  const command = disk === undefined ? args : [stageDir, disk, program('walk-layer'), ...args]
  const file = program(disk === undefined ? 'walk-layer' : 'with-disk')
  const said = await run({ step, file, args: command, timeoutMs: 110_000 })
  const words = said.split('\0')
  return Array.from({ length: Math.floor(words.length / 2) }, (_, at) => ({
    what: words[at * 2] as string,
    path: words[at * 2 + 1] as string,
  }))
}

/** Says which file belongs to somebody who does not exist in a machine with users of its own; undefined when none does. */
export const strangerIn = async (directory: string, disk?: string): Promise<string | undefined> => {
  const [found] = await walkLayer('ids of a layer', ['ids', directory, String(idsPerMachine)], disk)
  return (
    found && `${found.path} belongs to ${found.what}, and sandboxes have users and groups 0 to ${idsPerMachine - 1}`
  )
}

/** `strangerIn` of images, which do not change: each is looked through once. */
export const createImageCheck = (): ((image: string) => Promise<string | undefined>) => {
  const known = new Map<string, Promise<string | undefined>>()
  return image => {
    const found = known.get(image) ?? strangerIn(image)
    known.set(image, found)
    return found.catch(error => {
      known.delete(image)
      throw error
    })
  }
}
