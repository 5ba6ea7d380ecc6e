/** MD5 of a stream, computed beside the main thread. */
import { lazy, loadAddon } from './load.ts'

interface Md5Addon {
  create(): object | undefined
  update(hash: object, buffers: Buffer[]): Promise<boolean>
  digest(hash: object): string | undefined
}

const addon = lazy(() => loadAddon<Md5Addon>('md5'))

/** Bytes gathered before a thread is asked. */
const blockBytes = 1024 * 1024
/** Bytes gathered or with a thread above which a writer is to wait. */
const mostBytes = 4 * blockBytes

export interface Md5 {
  /** Takes a chunk, which must not change any more; a promise is to be waited for before the next. */
  update(chunk: Buffer): Promise<void> | undefined
  /** 32 hex digits. Call it once, after the last chunk. */
  digest(): Promise<string>
}

export const md5 = (): Md5 => {
  const { create, update, digest } = addon()
  const hash = create()
  if (!hash) throw new Error('this Node has no MD5')
  let gathered: Buffer[] = []
  let waiting = 0
  let flying = 0
  let busy: Promise<void> | undefined

  /** One block after the other, since each goes on where the one before has ended. */
  const run = async (): Promise<void> => {
    while (waiting > 0) {
      const buffers = gathered
      flying = waiting
      gathered = []
      waiting = 0
      if (!(await update(hash, buffers))) throw new Error('MD5 failed')
    }
    flying = 0
    busy = undefined
  }
  const start = (): Promise<void> => {
    busy ??= run()
    // A failure is told to whoever waits next, or for the digest.
    busy.catch(() => {})
    return busy
  }
  return {
    update(chunk) {
      gathered.push(chunk)
      waiting += chunk.length
      if (waiting < blockBytes) return undefined
      const running = start()
      return waiting + flying < mostBytes ? undefined : running
    },
    async digest() {
      await start()
      const text = digest(hash)
      if (text === undefined) throw new Error('MD5 failed')
      return text
    },
  }
}
