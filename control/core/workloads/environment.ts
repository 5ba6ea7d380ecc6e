/** What a workload's machine is told in its environment. */
import type { MachineIdentity } from '../../../shared/wire/host.ts'
import type { Image } from '../images/images.ts'
import type { StoredEnv } from '../records/sealing.ts'
import { commonEnvironment, entrypointOf, platform, withoutOurs } from '../kinds/sandbox/environment.ts'
import { environmentFor, type WayOut } from '../kinds/sandbox/network/outbound.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { WireNames } from '../../base/wire/names.ts'
import type { Content } from './content.ts'
import { keyFromClient } from './credentials.ts'

export interface EnvironmentDeps {
  readonly names: WireNames
  readonly sealer: Sealer
  /** `HUTCH_WIRE_NAMES` for the daemon. */
  readonly wireNames: string
}

interface Planned {
  readonly type: string
  readonly region: string
  readonly content: Content
  readonly image: Image
  readonly workdir: string
  readonly identity: MachineIdentity
  /** What points to the way out of this machine, if there is one. */
  readonly way: WayOut | undefined
  /** What it calls the management API with. */
  readonly client: string
  /** Where that is. */
  readonly publicUrl: string
}

/** Where it listens: on all addresses. */
const host = '0.0.0.0'

/** An image that names a user is run as that one, as container engines do. */
const userSwitch = (names: WireNames, { user }: Image): Record<string, string> =>
  user ? names.environment({ SANDBOX_USER_ENABLED: 'true' }) : {}

const opened = (envs: readonly StoredEnv[], sealer: Sealer): Record<string, string> =>
  Object.fromEntries(envs.map(env => [env.name, 'sealed' in env ? sealer.open(env.sealed) : env.value]))

const wordsOf = (entrypoint: Content['entrypoint']): true | readonly string[] => {
  if (entrypoint === undefined) return true
  return typeof entrypoint === 'string' ? ['/bin/sh', '-c', entrypoint] : entrypoint
}

/** What the image says gives way to what the platform says, and that to what the spec says. Throws `image_refused` for an image without a command. */
export const variables = (
  { names, sealer, wireNames }: EnvironmentDeps,
  { type, region, content, image, workdir, identity, way, client, publicUrl }: Planned,
): Record<string, string> => {
  const port = String(content.port)
  return {
    ...commonEnvironment(names, image, type),
    ...userSwitch(names, image),
    ...platform(names, identity, region),
    // Programs made for earlier versions of the platform read the second pair.
    HOST: host,
    PORT: port,
    ...names.environment({ SERVER_HOST: host, SERVER_PORT: port, ENABLE_OPENTELEMETRY: 'false' }),
    ...names.environment({
      CLIENT_CREDENTIALS: client,
      API_KEY: keyFromClient(client),
      API_URL: `${publicUrl}/v0`,
      RUN_URL: publicUrl,
    }),
    ...(way ? environmentFor(way, {}) : {}),
    ...withoutOurs(opened(content.envs, sealer)),
    ...entrypointOf({ entrypoint: wordsOf(content.entrypoint), image: content.image ?? '' }, image),
    WORKDIR: workdir,
    HUTCH_WIRE_NAMES: wireNames,
  }
}
