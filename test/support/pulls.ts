/** A store of images that pulls, and how its users wait for it. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createImages, type Image, type Images, type ImagesConfig } from '../../control/core/images/images.ts'
import type { KnownLogin } from '../../control/core/images/pulling.ts'
import { systemClock } from '../../shared/clock.ts'
import { isError } from '../../shared/errors.ts'
import { randomIds } from '../../shared/ids.ts'
import { silentLog } from '../../shared/log.ts'

export interface PullingStore {
  readonly images: Images
  /** Its directory. */
  readonly own: string
  /** What workspaces have for every registry. */
  readonly logins: Map<string, KnownLogin>
  /** Milliseconds that the time of day is ahead. */
  readonly clock: { ahead: number }
  /** Another store on the same directory; the first one goes on. */
  readonly again: () => Promise<Images>
}

export const pullingStore = async (t: Test, config: Partial<ImagesConfig>): Promise<PullingStore> => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-images-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const dataDir = join(dir, 'data')
  mkdirSync(dataDir)
  const logins = new Map<string, KnownLogin>()
  const clock = { ahead: 0 }
  const { now, ...time } = systemClock()
  const deps = {
    ids: randomIds(),
    log: silentLog,
    clock: { ...time, now: () => now() + clock.ahead },
    loginFor: async (workspace: string) => logins.get(workspace),
  }
  const wireNames = [{ header: 'Svc', short: 'svc', image: 'svc' }]
  const again = async () => {
    const images = await createImages({ dataDir, imagesDir: join(dir, 'shared'), wireNames, ...config }, deps)
    t.teardown(images.close)
    return images
  }
  return { images: await again(), own: join(dataDir, 'images'), logins, clock, again }
}

/** Asks as the loop does, until the image is there or the pull has failed. */
export const settle = async (images: Images, reference: string, workspace = 'red'): Promise<Image> => {
  for (;;) {
    try {
      return await images.need(reference, workspace)
    } catch (error) {
      if (!isError(error, 'busy')) throw error
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }
}

/** Why an image is refused. */
export const reasonOf = (pulled: Promise<unknown>): Promise<string> =>
  pulled.then(
    () => 'it was pulled',
    (error: unknown) => (isError(error, 'image_refused') ? error.message : `another error: ${error}`),
  )
