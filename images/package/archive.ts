/** The archive of what goes into sandboxes: `bundles/<digest>` and `images/trees/<digest>`, as they lie in .runtime. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'
import { readName } from '../../control/core/images/layout.ts'

/**
 * A tenth larger than what level 19 makes, in a tenth of its time. The window finds what Node's binary has twice, and is
 * the memory that unpacking takes: 32 MiB.
 */
const params = {
  [constants.ZSTD_c_compressionLevel]: 12,
  [constants.ZSTD_c_windowLog]: 25,
  [constants.ZSTD_c_enableLongDistanceMatching]: 1,
}

/** The same trees give the same archive. */
const tarFlags = [
  '--sort=name',
  '--mtime=@1700000000',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '--exclude=.inputs',
]

const write = async (runtime: string, parts: readonly string[], archive: string): Promise<void> => {
  const tar = spawn('tar', ['-c', '-f', '-', '-C', runtime, ...tarFlags, ...parts], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(tar, 'close') as Promise<[number | null]>
  await pipeline(tar.stdout, createZstdCompress({ params }), createWriteStream(`${archive}.new`))
  const [code] = await ended
  if (code !== 0) throw new Error(`tar ended with ${code}`)
  renameSync(`${archive}.new`, archive)
}

/** Puts `runtime.tar.zst` and `runtime.json` into `dist`. The archive is kept in .runtime until what is in it changes. */
export const packRuntime = async (root: string, dist: string): Promise<void> => {
  const runtime = join(root, '.runtime')
  const bundle = basename(readlinkSync(join(runtime, 'bundle')))
  const busybox = await readName(join(runtime, 'images'), 'busybox')
  if (!busybox) throw new Error('the image busybox is missing; run: make setup')
  const kept = join(runtime, 'package')
  const name = `${bundle}-${busybox}.tar.zst`
  const archive = join(kept, name)
  mkdirSync(kept, { recursive: true })
  if (!existsSync(archive)) {
    console.log('package: compressing the runtime bundle (some seconds)')
    for (const old of readdirSync(kept)) if (/\.tar\.zst/.test(old)) rmSync(join(kept, old))
    await write(runtime, [join('bundles', bundle), join('images/trees', busybox)], archive)
  }
  copyFileSync(archive, join(dist, 'runtime.tar.zst'))
  writeFileSync(join(dist, 'runtime.json'), `${JSON.stringify({ bundle, images: { busybox } })}\n`)
}
