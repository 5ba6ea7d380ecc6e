/** The image of builders is made when the first build wants it: a host that builds nothing never has it. */
import { join } from 'node:path'
import { execa } from 'execa'
import { fail } from '../../../../shared/errors.ts'
import { installation } from '../../../../shared/installation.ts'
import type { Log } from '../../../../shared/log.ts'
import { keyedMutex } from '../../../../shared/sync.ts'
import type { Images } from '../../images/images.ts'
import { builderImage } from './rules.ts'

export interface BuilderImageDeps {
  readonly imagesDir: string
  readonly images: Pick<Images, 'resolve'>
  readonly log: Log
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? ''

/** Resolves with the digest of the image, made when it is not there or its recipe has changed. Throws `unavailable`. */
export const builderImages = ({
  imagesDir,
  images,
  log,
}: BuilderImageDeps): ((signal: AbortSignal) => Promise<string>) => {
  const inTurn = keyedMutex()
  const script = join(installation.root, 'images/builder/build.sh')
  const make = async (signal: AbortSignal) => {
    const { failed, stderr, stdout } = await execa('bash', [script], {
      env: { IMAGES_DIR: imagesDir },
      stdin: 'ignore',
      reject: false,
      cancelSignal: signal,
      maxBuffer: 1024 * 1024,
    })
    signal.throwIfAborted()
    if (failed)
      throw fail('unavailable', {
        what: `the image that builds run in cannot be made: ${lastLine(`${stdout}\n${stderr}`)}`,
        next: 'mend what it says on the host, and upload again',
      })
    if (stdout) log.info('builder.image', { said: lastLine(stdout) })
    return (await images.resolve(builderImage)).digest
  }
  return signal => inTurn('make', () => make(signal))
}
