import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { execa } from 'execa'
import { errno, fail, messageOf } from '../../../shared/errors.ts'

/** tar reads no further than the end of the archive, and closes its input when it has seen that. */
const tarHasEnough = (error: unknown): boolean => ['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(errno(error) ?? '')

/** Unpacks a `.tar.zst` into `dir`, on the disk when it resolves. Throws `unavailable` with what is wrong. */
export const extract = async (archive: string, dir: string): Promise<void> => {
  const tar = execa('tar', ['-x', '-p', '-f', '-', '-C', dir], {
    stdout: 'ignore',
    env: { LC_ALL: 'C' },
    reject: false,
  })
  const fed = pipeline(createReadStream(archive), createZstdDecompress(), tar.stdin)
  const [feeding, ended] = await Promise.all([
    fed.then(
      () => undefined,
      (error: unknown) => ({ error }),
    ),
    tar,
  ])
  const wrong = feeding && !tarHasEnough(feeding.error) ? messageOf(feeding.error) : undefined
  if (ended.failed || wrong !== undefined)
    throw fail('unavailable', {
      what: `${archive} cannot be unpacked: ${wrong ?? (ended.stderr.trim().split('\n').at(-1) || ended.shortMessage)}`,
      next: 'see that tar is installed, that the disk has room, and that the package is whole',
    })
  // What was unpacked enters its place by renames, which must not reach the disk before the files do.
  await execa('sync', ['-f', dir])
}
