/** Brings an image of this host into a builder, so that Dockerfiles can begin with it. */
import { createHash } from 'node:crypto'
import { Transform } from 'node:stream'
import { execa } from 'execa'
import { fail } from '../../../../shared/errors.ts'
import type { Image } from '../../images/images.ts'
import { configType, layerType, manifestType } from '../../images/pull/manifest.ts'
import type { Machine } from './machine.ts'
import { hasImage, loadImage, places } from './script.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** The configuration of OCI, from what we keep of it. */
const configOf = ({ env, workdir, user, command, labels }: Image, layer: string) => ({
  architecture: architectures[process.arch] ?? process.arch,
  os: 'linux',
  config: {
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    WorkingDir: workdir,
    ...(user ? { User: user } : {}),
    ...(command.length > 0 ? { Cmd: command } : {}),
    Labels: labels,
  },
  rootfs: { type: 'layers', diff_ids: [`sha256:${layer}`] },
  history: [{ created_by: 'hutch' }],
})

/** The root file system as a layer; resolves with its digest and size when it is in the machine. */
const sendLayer = async (machine: Machine, { rootfs }: Image, path: string) => {
  const hash = createHash('sha256')
  let size = 0
  const noting = new Transform({
    transform(piece: Buffer, _encoding, done) {
      hash.update(piece)
      size += piece.length
      done(null, piece)
    },
  })
  const words = [
    '--create',
    '--numeric-owner',
    '--xattrs',
    '--sort=name',
    '--one-file-system',
    '--directory',
    rootfs,
    '.',
  ]
  const packing = execa('tar', words, { stdin: 'ignore', buffer: false, reject: false })
  packing.stdout.pipe(noting)
  packing.stdout.on('error', error => noting.destroy(error))
  await machine.write(path, noting)
  const { failed, exitCode } = await packing
  if (failed)
    throw fail('unavailable', {
      what: `an image of this host cannot be packed: tar ended with ${exitCode}`,
      next: 'try again',
    })
  return { digest: hash.digest('hex'), size }
}

const send = async (machine: Machine, image: Image): Promise<string> => {
  const layout = `${places.work}/${image.digest}`
  const blobs = `${layout}/blobs/sha256`
  await machine.run(`mkdir -p ${blobs}`)
  const layer = await sendLayer(machine, image, `${layout}/layer`)
  const config = JSON.stringify(configOf(image, layer.digest))
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: manifestType,
    config: { mediaType: configType, digest: `sha256:${sha256(config)}`, size: Buffer.byteLength(config) },
    layers: [{ mediaType: layerType, digest: `sha256:${layer.digest}`, size: layer.size }],
  })
  const described = { mediaType: manifestType, digest: `sha256:${sha256(manifest)}`, size: Buffer.byteLength(manifest) }
  const annotations = { 'org.opencontainers.image.ref.name': 'image' }
  await machine.write(`${blobs}/${sha256(config)}`, config)
  await machine.write(`${blobs}/${sha256(manifest)}`, manifest)
  await machine.write(
    `${layout}/index.json`,
    JSON.stringify({ schemaVersion: 2, manifests: [{ ...described, annotations }] }),
  )
  await machine.write(`${layout}/oci-layout`, JSON.stringify({ imageLayoutVersion: '1.0.0' }))
  await machine.run(`mv ${layout}/layer ${blobs}/${layer.digest}`)
  return layout
}

/** Loads it unless its layers are there from a build before. */
export const loadInto = async (machine: Machine, image: Image, signal: AbortSignal): Promise<void> => {
  const there = await machine.run(hasImage(image.digest), { signal })
  if (there.exitCode === 0) return
  const layout = await send(machine, image)
  const { exitCode, stderr } = await machine.run(loadImage(image.digest, layout), { signal })
  if (exitCode !== 0)
    throw fail('unavailable', {
      what: `image "${image.name}" cannot be loaded into the builder: ${stderr.trim().split('\n').at(-1)}`,
      next: 'try again',
    })
}
