/** Bodies from the disk: each is read through once by this process before anybody is given it. */
import { createHash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import type { Promised } from './kinds.ts'

export interface Verified {
  /** The open file when what is in it has these digests; undefined when it has not, or is not there. The caller closes it. */
  open(path: string, digest: string, promised: Promised | undefined): Promise<FileHandle | undefined>
  /** This process has just written it, and knows. */
  note(digest: string): void
}

const remembered = 100_000

const digestOf = async (file: FileHandle, algorithm: string): Promise<string> => {
  const hash = createHash(algorithm)
  const stream = file.createReadStream({ start: 0, autoClose: false, highWaterMark: 1024 * 1024 })
  for await (const piece of stream) hash.update(piece as Buffer)
  return hash.digest('hex')
}

export const createVerified = (): Verified => {
  const known = new Set<string>()
  const remember = (what: string) => {
    if (known.size >= remembered) known.clear()
    known.add(what)
  }
  const holds = async (file: FileHandle, digest: string, { algorithm, value }: Promised): Promise<boolean> => {
    const what = `${digest} ${algorithm}:${value}`
    if (known.has(what)) return true
    if (algorithm === 'sha256' && value !== digest) return false
    if ((await digestOf(file, algorithm)) !== value) return false
    remember(what)
    return true
  }
  const own = (digest: string): Promised => ({ algorithm: 'sha256', value: digest })
  return {
    note: digest => remember(`${digest} sha256:${digest}`),
    async open(path, digest, promised) {
      const file = await open(path, 'r').catch(() => undefined)
      if (!file) return undefined
      try {
        if ((await holds(file, digest, own(digest))) && (!promised || (await holds(file, digest, promised))))
          return file
      } catch (error) {
        await file.close()
        throw error
      }
      await file.close()
      return undefined
    },
  }
}
