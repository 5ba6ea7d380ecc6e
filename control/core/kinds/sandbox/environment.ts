/** What a sandbox's machine is told in its environment. */
import { fail } from '../../../../shared/errors.ts'
import type { MachineIdentity } from '../../../../shared/wire/host.ts'
import type { Image } from '../../images/images.ts'
import type { Sealer } from '../../secrets/secrets.ts'
import type { Resource } from '../../store/store.ts'
import type { WireNames } from '../../../base/wire/names.ts'
import { environmentFor, type WayOut } from './network/outbound.ts'
import { environmentOf, storedSandbox, type StoredRuntime } from './stored.ts'

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The daemon's own variables cannot be given by a caller: they would steer it. */
export const withoutOurs = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('HUTCH_')))

/** Whom processes run as where the sandbox asks for users (`SANDBOX_USER_ENABLED`). */
const userOf = ({ user }: Pick<Image, 'user'>, names: Pick<WireNames, 'environment'>): Record<string, string> =>
  ['', 'root', '0'].includes(user.split(':')[0] ?? '') ? {} : names.environment({ SANDBOX_USER: user })

/** Bytes; the kernel takes 128 KiB as one variable. */
const longestEntrypoint = 65_536

/** What the daemon starts when the machine does. Throws `image_refused` when the image is to say what, and does not. */
export const entrypointOf = (
  { entrypoint, image: reference }: Pick<StoredRuntime, 'entrypoint' | 'image'>,
  { command }: Pick<Image, 'command'>,
): Record<string, string> => {
  if (!entrypoint) return {}
  const words = entrypoint === true ? command : entrypoint
  if (words.length === 0)
    throw fail('image_refused', { image: reference, reason: 'it has no entrypoint and no command to start' })
  const text = JSON.stringify(words)
  if (Buffer.byteLength(text) <= longestEntrypoint) return { HUTCH_ENTRYPOINT: text }
  throw fail('image_refused', { image: reference, reason: `its entrypoint is longer than ${longestEntrypoint} bytes` })
}

/** What tells programs where they run. */
export const platform = (
  names: WireNames,
  { name, workspace, workspaceId }: MachineIdentity,
  region: string,
): Record<string, string> =>
  names.environment({ NAME: name, WORKSPACE: workspace, WORKSPACE_ID: workspaceId, REGION: region })

/** What every machine of an image is told unless its record says otherwise: one that is made ahead of need knows it. */
export const commonEnvironment = (
  names: Pick<WireNames, 'environment'>,
  image: Pick<Image, 'env' | 'user' | 'workdir'>,
  type = 'sandbox',
): Record<string, string> => ({
  PATH: systemPath,
  HOME: '/root',
  HOST: '0.0.0.0',
  DO_NOT_TRACK: '1',
  // What a daemon prints is kept on this box; a sandbox that wants its requests logged says "false".
  DISABLE_REQUEST_LOGGING: 'true',
  ...names.environment({ ENV: 'prod', CLOUD: 'true', TYPE: type }),
  ...userOf(image, names),
  ...withoutOurs(image.env),
  WORKDIR: image.workdir || '/',
})

interface Planned {
  readonly owner: Resource
  readonly image: Image
  readonly workdir: string
  readonly identity: MachineIdentity
  /** What points to the way out of this machine, if it has one of its own. */
  readonly way: WayOut | undefined
}

interface VariablesDeps {
  readonly names: WireNames
  readonly sealer: Sealer
  /** `HUTCH_WIRE_NAMES` for the daemon. */
  readonly wireNames: string
}

/** All of it. Throws `image_refused` when the image is to say what to start, and does not. */
export const variables = (
  { names, sealer, wireNames }: VariablesDeps,
  { owner, image, workdir, identity, way }: Planned,
): Record<string, string> => {
  const stored = storedSandbox(owner)
  const { runtime, region } = stored
  return {
    ...commonEnvironment(names, image),
    ...platform(names, identity, region),
    ...(way ? environmentFor(way, stored) : {}),
    ...withoutOurs({ ...image.env, ...environmentOf(owner, sealer) }),
    ...entrypointOf(runtime, image),
    WORKDIR: workdir,
    HUTCH_WIRE_NAMES: wireNames,
  }
}
