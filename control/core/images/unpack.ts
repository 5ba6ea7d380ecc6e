/**
 * Unpacks an image of an OCI layout. Its layers are anybody's: umoci keeps paths and links inside the root, and is itself kept
 * in a jail with no network, no process but its own, nothing to write to but its directory, and the capabilities that owners,
 * modes and file capabilities take. Devices, which a sandbox must not have, do not stay.
 */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../../shared/errors.ts'
import { parse, s } from '../../../shared/schema.ts'
import type { ImageConfig } from './layout.ts'
import { needMountPlaces } from './mount-places.ts'
import type { RunStep } from './step.ts'

/** `sh -c … sh DIR COMMAND…`: runs the command with DIR as /work and the programs of this machine, read-only. */
const jail = `set -eu
work=$1 jail=$1/jail; shift
mkdir "$jail"
mount -t tmpfs -o size=1m,mode=755 tmpfs "$jail"
for dir in usr bin sbin lib lib32 lib64; do
  if [ -L "/$dir" ]; then cp -P "/$dir" "$jail/$dir"
  elif [ -d "/$dir" ]; then mkdir "$jail/$dir"; mount --rbind "/$dir" "$jail/$dir"; mount -o remount,ro,bind "$jail/$dir"; fi
done
mkdir "$jail/work" "$jail/tmp" "$jail/etc"
mount --bind "$work" "$jail/work"
exec chroot "$jail" "$@"`

const unpack = `command -v umoci >/work/which || { echo 'this machine lacks umoci: apt-get install -y umoci' >&2; exit 1; }
umoci raw unpack --image /work/layout:image /work/rootfs
find /work/rootfs -xdev \\( -type b -o -type c \\) -delete`

const capabilities = '-all,+chown,+dac_override,+fowner,+fsetid,+setfcap,+mknod'

/** Nothing of it outlives this process: the first word ends with its parent, and all others with the first. */
const jailed = (work: string, maxBytes: number): string[] =>
  [
    ['setpriv', '--pdeathsig', 'KILL'],
    ['unshare', '--mount', '--net', '--ipc', '--uts', '--pid', '--fork', '--kill-child=KILL'],
    ['--propagation', 'private'],
    ['sh', '-c', jail, 'sh', work],
    ['setpriv', '--no-new-privs', '--inh-caps=-all', `--bounding-set=${capabilities}`],
    ['prlimit', `--fsize=${maxBytes}`],
    ['sh', '-ec', unpack],
  ].flat()

const strings = s.optional(s.nullable(s.array(s.string())))

/** The configuration of an image, as far as it is read here. */
const ociConfig = s.looseObject({
  config: s.optional(
    s.nullable(
      s.looseObject({
        Env: strings,
        WorkingDir: s.optional(s.string()),
        User: s.optional(s.string()),
        Entrypoint: strings,
        Cmd: strings,
        Labels: s.optional(s.nullable(s.record(s.string(), s.string()))),
      }),
    ),
  ),
})

/** It is read with every sandbox that is made of the image. */
const most = { entries: 1_000, bytes: 512 * 1024 }

/** Throws where variables, command and labels are more than an image needs: anybody's image costs the server that much each time. */
const needModest = ({ env, command, labels, workdir, user }: ImageConfig): void => {
  const texts = [...Object.entries(env).flat(), ...Object.entries(labels).flat(), ...command, workdir, user]
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const entries = Object.keys(env).length + Object.keys(labels).length + command.length
  if (entries > most.entries || bytes > most.bytes)
    throw fail('unprocessable', {
      reason: `its variables, command and labels are more than ${most.entries}, or ${most.bytes} bytes`,
    })
}

/** What we keep of an image's configuration. Throws `unprocessable`. */
const fromOci = (value: unknown): ImageConfig => {
  const config = parse(ociConfig, value, 'config').config ?? {}
  const env = (config.Env ?? []).map(pair => {
    const equals = pair.indexOf('=')
    return equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
  })
  const kept = {
    env: Object.fromEntries(env),
    workdir: config.WorkingDir || '/',
    user: config.User ?? '',
    command: [...(config.Entrypoint ?? []), ...(config.Cmd ?? [])],
    labels: config.Labels ?? {},
  }
  needModest(kept)
  return kept
}

const index = s.looseObject({
  manifests: s.array(s.looseObject({ digest: s.string().check(s.regex(/^sha256:[0-9a-f]{64}$/)) })),
})
const manifest = s.looseObject({
  config: s.looseObject({ digest: s.string().check(s.regex(/^sha256:[0-9a-f]{64}$/)) }),
})

const readBlob = async (layout: string, digest: string): Promise<unknown> =>
  JSON.parse(await readFile(join(layout, 'blobs', 'sha256', digest.slice('sha256:'.length)), 'utf8'))

/** Digest in hex of the only image in the layout, or undefined. */
export const digestIn = async (layout: string): Promise<string | undefined> => {
  const { manifests } = parse(index, JSON.parse(await readFile(join(layout, 'index.json'), 'utf8')), 'config')
  return manifests[0]?.digest.slice('sha256:'.length)
}

const configIn = async (layout: string): Promise<ImageConfig> => {
  const digest = await digestIn(layout)
  const { config } = parse(manifest, await readBlob(layout, `sha256:${digest}`), 'config')
  return fromOci(await readBlob(layout, config.digest))
}

export interface Unpack {
  /** Directory with `layout`, an OCI layout with one image called `image`. */
  readonly work: string
  /** Bytes that one file may have. */
  readonly maxBytes: number
  readonly run: RunStep
  readonly signal?: AbortSignal | undefined
}

/** Makes `work/tree` ({rootfs, image.json}) of the layout, which goes. Throws `image_failed` naming the step, `unprocessable`. */
export const unpackImage = async ({ work, maxBytes, run, signal }: Unpack): Promise<void> => {
  const layout = join(work, 'layout')
  const config = await configIn(layout)
  const [command = '', ...args] = jailed(work, maxBytes)
  await run('unpack', command, args, signal)
  await needMountPlaces(join(work, 'rootfs'))
  await mkdir(join(work, 'tree'), { mode: 0o755 })
  await rename(join(work, 'rootfs'), join(work, 'tree', 'rootfs'))
  await writeFile(join(work, 'tree', 'image.json'), JSON.stringify(config))
  await rm(layout, { recursive: true, force: true })
  // The tree is published by a rename that must not reach the disk before its content does.
  await run('sync', 'sync', ['-f', work], signal)
}
