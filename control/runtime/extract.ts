import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { execa } from 'execa'
import { fail, messageOf } from '../../shared/errors.ts'

/**
 * Unpacks a `.tar.zst` into `dir`, on the disk when it resolves. Throws `unavailable` with what tar says.
 */
export const extract = async (archive: string, dir: string): Promise<void> => {
  const tar = execa('tar', ['-x', '-p', '-f', '-', '-C', dir], {
    stdout: 'ignore',
    env: { LC_ALL: 'C' },
    reject: false,
  })
  const fed = pipeline(createReadStream(archive), createZstdDecompress(), tar.stdin)
  const [feeding, ended] = await Promise.allSettled([fed, tar])
  const unpacked = ended.status === 'fulfilled' && !ended.value.failed
  if (!unpacked || feeding.status === 'rejected') {
    const said = ended.status === 'fulfilled' ? ended.value.stderr.trim().split('\n').at(-1) : messageOf(ended.reason)
    // A stream that tar has closed says less than tar.
    const reason = (!unpacked && said) || (feeding.status === 'rejected' ? messageOf(feeding.reason) : 'tar failed')
    throw fail('unavailable', {
      what: `${archive} cannot be unpacked: ${reason}`,
      next: 'see that tar is installed, that the disk has room, and that the package is whole',
    })
  }
  // What was unpacked enters its place by renames, which must not reach the disk before the files do.
  await execa('sync', ['-f', dir])
}
