/** One build: from an archive to an image of the workspace. */
import { fail, isError } from '../../../../shared/errors.ts'
import type { Clock } from '../../../../shared/clock.ts'
import { keyedMutex } from '../../../../shared/sync.ts'
import type { Image, Images } from '../../images/images.ts'
import { remoteOf } from '../../images/reference.ts'
import type { StoredNetwork } from '../../kinds/sandbox/network/stored.ts'
import { contextOf } from '../archive/context.ts'
import type { ArchiveLimits } from '../archive/entry-checks.ts'
import { openZip, type Archive } from '../archive/zip.ts'
import { basesOf, inEveryStage } from '../recognise/bases.ts'
import { recipeOf, type Recipe } from '../recognise/recognise.ts'
import { repositoryIn } from './bring.ts'
import { loadInto } from './load.ts'
import type { Machine, Machines } from './machine.ts'
import { build as buildScript, innerCa, nameImage, places, prepare, quoted, tidy, trustVariables } from './script.ts'

export interface BuildRequest {
  readonly workspace: string
  /** A zip on this host. */
  readonly file: string
  /** Names that the image gets, as keys of the workspace's images. */
  readonly references: readonly string[]
  /** The builder's outbound policy; undefined lets everything pass. */
  readonly network?: StoredNetwork | undefined
  /** A docker configuration with logins for registries, as JSON. */
  readonly logins?: string | undefined
  /** Output as it comes. */
  readonly say: (text: string) => void
  readonly signal: AbortSignal
}

export interface BuildLimits extends ArchiveLimits {
  /** From the first step to the last. */
  readonly timeMs: number
  /** Bytes of the image, unpacked. */
  readonly imageBytes: number
}

export interface BuildDeps {
  readonly images: Pick<Images, 'need' | 'check' | 'built'>
  readonly machines: Machines
  /** The image of builders, made when it is missing. */
  readonly builderImage: (signal: AbortSignal) => Promise<string>
  readonly clock: Clock
  readonly limits: BuildLimits
  /** Reference of the image that projects without a Dockerfile begin with. */
  readonly base: () => Promise<string>
  /** Machines trust authorities beside those of their image. */
  readonly trusts: boolean
  /** Names of the file that says how to build. */
  readonly settings: readonly string[]
}

/** Resolves with the image. Throws `unprocessable` for what is the archive's or the build's fault, and what says what else is. */
export type Build = (request: BuildRequest) => Promise<{ readonly digest: string }>

const pauseMs = 500
/** Characters that a build may write. */
const mostOutput = 64 * 1024 * 1024

/** An image of this host, or of a registry that the host pulls from; undefined for what the builder is to find by itself. */
const imageFor = async (
  { images, clock }: BuildDeps,
  reference: string,
  request: BuildRequest,
): Promise<Image | undefined> => {
  const { workspace, signal, say } = request
  try {
    await images.check(reference, workspace)
  } catch (error) {
    if (isError(error, 'invalid_image') || isError(error, 'image_refused')) return undefined
    throw error
  }
  for (let told = false; ; told = true)
    try {
      signal.throwIfAborted()
      return await images.need(reference, workspace)
    } catch (error) {
      if (!isError(error, 'busy')) throw error
      if (!told) say(`${error.message}\n`)
      await clock.sleep(pauseMs)
    }
}

/** The name that buildah finds a reference under: one without a registry is the host's own. */
const nameOf = (reference: string): string => remoteOf(reference)?.name ?? `localhost/${reference}`

const loadBases = async (deps: BuildDeps, machine: Machine, recipe: Recipe, request: BuildRequest): Promise<void> => {
  for (const reference of basesOf(recipe.dockerfile, recipe.args)) {
    const image = await imageFor(deps, reference, request)
    if (!image) continue
    request.say(`image ${reference} is of this host (${image.digest.slice(0, 12)})\n`)
    await loadInto(machine, image, request.signal)
    await machine.run(nameImage(image.digest, nameOf(reference)), { signal: request.signal })
  }
}

/** Variables as a file of `sh`. */
const sourced = (variables: Readonly<Record<string, string>>): string =>
  Object.entries(variables)
    .map(([name, value]) => `export ${name}=${quoted(value)}\n`)
    .join('')

/** Writes what no layer is to have; resolves with the ids of the secrets. */
const writeSecrets = async (machine: Machine, { secrets }: Recipe, logins: string | undefined): Promise<string[]> => {
  if (logins !== undefined) await machine.write(`${places.secrets}/auth.json`, logins, '600')
  const names = Object.keys(secrets)
  if (names.length === 0) return []
  for (const name of names) await machine.write(`${places.secrets}/${name}`, secrets[name] as string, '600')
  await machine.write(`${places.secrets}/env.build`, sourced(secrets), '600')
  return [...names, 'env.build']
}

const lastWords = (output: string): string =>
  output
    .trim()
    .split('\n')
    .filter(line => line.trim() !== '')
    .slice(-3)
    .join(' | ')
    .slice(-600)

/** Variables of trust that the Dockerfile says nothing of itself; none where the machine trusts nobody beside the image. */
const unsaid = ({ trusts }: BuildDeps, { dockerfile }: Recipe): string[] =>
  trusts ? trustVariables.filter(name => !dockerfile.includes(name)) : []

/** Adds the machine's certificate authorities to every stage. */
const trusting = (deps: BuildDeps, recipe: Recipe): string => {
  const names = unsaid(deps, recipe)
  if (names.length === 0) return recipe.dockerfile
  return inEveryStage(recipe.dockerfile, `ENV ${names.map(name => `${name}=${innerCa}`).join(' ')}`)
}

const runBuild = async (deps: BuildDeps, machine: Machine, recipe: Recipe, request: BuildRequest): Promise<void> => {
  const { signal, say, logins } = request
  const secrets = await writeSecrets(machine, recipe, logins)
  const unset = unsaid(deps, recipe)
  const words = { unset, args: recipe.args, secrets, hasLogins: logins !== undefined }
  let output = ''
  const hear = (text: string): void => {
    output = (output + text).slice(-4_096)
    say(text)
  }
  const { status, exitCode } = await machine.run(buildScript(words), { signal, maxOutput: mostOutput, onStdout: hear })
  if (status === 'completed') return
  if (status === 'killed' || exitCode === 137)
    throw fail('unprocessable', {
      reason: `the build was killed, as one is that needs more memory than the builder has: ${lastWords(output)}`,
    })
  throw fail('unprocessable', { reason: `the build failed: ${lastWords(output)}` })
}

const inMachine = async (deps: BuildDeps, machine: Machine, archive: Archive, request: BuildRequest) => {
  const { settings, images, limits } = deps
  const { say, signal, workspace, references } = request
  const recipe = await recipeOf(archive, { base: await deps.base(), settings })
  say(recipe.by === 'Dockerfile' ? 'building by the Dockerfile\n' : `recognised a ${recipe.by} project\n`)
  await machine.run(prepare, { signal })
  try {
    await loadBases(deps, machine, recipe, request)
    await machine.write(`${places.work}/context.tar`, contextOf(archive, recipe))
    await machine.write(`${places.work}/Dockerfile`, trusting(deps, recipe))
    await runBuild(deps, machine, recipe, request)
    say('storing the image\n')
    const repository = repositoryIn(machine, `${places.work}/out`, limits.imageBytes)
    return await images.built.take({ workspace, references, repository, maxBytes: limits.imageBytes, signal })
  } finally {
    // Whatever became of the build: its processes and its secrets do not outlive it.
    await machine.run(tidy)
  }
}

export const createBuild = (deps: BuildDeps): Build => {
  const { machines, builderImage, limits, clock } = deps
  const inTurn = keyedMutex()
  return async request => {
    const late = new AbortController()
    const signal = AbortSignal.any([request.signal, late.signal])
    const archive = await openZip(request.file, limits)
    const build = async () => {
      signal.throwIfAborted()
      const stop = clock.after(limits.timeMs, () =>
        late.abort(fail('unprocessable', { reason: `the build took longer than ${limits.timeMs / 60_000} minutes` })),
      )
      try {
        const made = await builderImage(signal)
        const spec = { made, ...(request.network ? { network: request.network } : {}) }
        return await machines.with(request.workspace, spec, machine =>
          inMachine(deps, machine, archive, { ...request, signal }),
        )
      } finally {
        stop()
      }
    }
    try {
      // One at a time of each workspace: they share a machine.
      return await inTurn(request.workspace, build)
    } finally {
      archive.close()
    }
  }
}
