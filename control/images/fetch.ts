/** From a registry or a layout on disk to a tree: skopeo copies, umoci unpacks. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'
import { fail, messageOf } from '../../shared/errors.ts'
import { parse, s } from '../../shared/schema.ts'
import type { ImageConfig } from './layout.ts'

const strings = s.optional(s.nullable(s.array(s.string())))

/** The index of an OCI layout and the configuration of an image, as far as they are read here. */
const layoutIndex = s.looseObject({
  manifests: s.array(s.looseObject({ digest: s.string().check(s.regex(/^sha256:[0-9a-f]{64}$/)) })),
})
const ociConfig = s.looseObject({
  config: s.optional(
    s.nullable(
      s.looseObject({
        Env: strings,
        WorkingDir: s.optional(s.string()),
        User: s.optional(s.string()),
        Entrypoint: strings,
        Cmd: strings,
      }),
    ),
  ),
})

/** `transport:rest` of skopeo; nothing else, so that no source is read as an option. */
const sourcePattern = /^(docker|oci|oci-archive|docker-archive|dir|containers-storage|docker-daemon):.+/s

/**
 * Makes `work/tree` ({rootfs, image.json}) from `source` and answers the image's digest; makes nothing when
 * `have(digest)` is true. Throws `image_failed` naming the step, `invalid_argument` for a source skopeo does not know.
 */
export const fetchImage = async (
  request: {
    name: string
    source: string
    work: string
    have: (digest: string) => Promise<boolean>
    /** Told of every step as it begins. */
    onStep?: (step: string) => void
  },
  signal?: AbortSignal,
): Promise<string> => {
  const { name, source, work, have, onStep } = request
  if (!sourcePattern.test(source))
    throw fail('invalid_argument', {
      field: 'source',
      reason: 'must be docker://…, oci:…, oci-archive:… or docker-archive:…',
    })
  const layout = join(work, 'layout')
  const run = async (step: string, command: string, args: string[]): Promise<string> => {
    const options = { ...(signal && { cancelSignal: signal }), stdin: 'ignore', maxBuffer: 8 * 1024 * 1024 } as const
    onStep?.(step)
    try {
      return (await execa(command, args, options)).stdout
    } catch (error) {
      signal?.throwIfAborted()
      const last = String((error as { stderr?: unknown }).stderr ?? '')
        .trim()
        .split('\n')
        .at(-1)
      throw fail('image_failed', { image: name, step, reason: last || messageOf(error) }, error)
    }
  }

  await run('copy', 'skopeo', ['copy', '--quiet', source, `oci:${layout}:image`])
  const index = parse(layoutIndex, JSON.parse(await readFile(join(layout, 'index.json'), 'utf8')), 'config')
  const digest = index.manifests[0]?.digest.slice('sha256:'.length)
  if (!digest) throw fail('image_failed', { image: name, step: 'copy', reason: 'the image has no manifest' })
  if (await have(digest)) return digest

  const config = await run('inspect', 'skopeo', ['inspect', '--config', `oci:${layout}:image`])
  await run('unpack', 'umoci', ['unpack', '--image', `${layout}:image`, join(work, 'unpacked')])
  await mkdir(join(work, 'tree'), { mode: 0o755 })
  await rename(join(work, 'unpacked', 'rootfs'), join(work, 'tree', 'rootfs'))
  await writeFile(join(work, 'tree', 'image.json'), JSON.stringify(fromOci(JSON.parse(config))))
  // The tree is published by a rename that must not reach the disk before its content does.
  await run('sync', 'sync', ['-f', work])
  return digest
}

/** What we keep of an image's configuration. */
const fromOci = (value: unknown): ImageConfig => {
  const config = parse(ociConfig, value, 'config').config ?? {}
  const env = (config.Env ?? []).map(pair => {
    const equals = pair.indexOf('=')
    return equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
  })
  return {
    env: Object.fromEntries(env),
    workdir: config.WorkingDir || '/',
    user: config.User ?? '',
    command: [...(config.Entrypoint ?? []), ...(config.Cmd ?? [])],
  }
}
