/** The box's location and flavours, as the operator declares them; policies are compared with these. */
import { listOf, refuse, type Environment } from './values.ts'

export interface PlaceConfig {
  /** Lower-case codes; '' where nothing is said: then no policy that names one is met. */
  readonly country: string
  readonly continent: string
  /** `cpu:x86`. */
  readonly flavors: readonly string[]
}

const members = ['country', 'continent'] as const

const ownFlavor: Readonly<Record<string, string>> = { x64: 'cpu:x86', arm64: 'cpu:arm' }

/** `HUTCH_LOCATION` is `country=de,continent=eu`, `HUTCH_FLAVORS` is `cpu:x86`; the processor of the box unless given. */
export const placeFrom = (env: Environment, arch: string = process.arch): PlaceConfig => {
  const said = new Map<string, string>()
  for (const part of listOf(env, 'HUTCH_LOCATION')) {
    const match = /^([a-z]+)=([a-z]{2})$/.exec(part.toLowerCase())
    if (!match || !members.includes(match[1] as never))
      throw refuse('HUTCH_LOCATION', `"${part}" is not country=xx or continent=xx, such as country=de,continent=eu`)
    said.set(match[1] as string, match[2] as string)
  }
  const flavors = listOf(env, 'HUTCH_FLAVORS')
  for (const flavor of flavors)
    if (!/^(cpu|gpu):[a-z0-9-]+$/.test(flavor))
      throw refuse('HUTCH_FLAVORS', `"${flavor}" is not a flavor such as cpu:x86`)
  return {
    country: said.get('country') ?? '',
    continent: said.get('continent') ?? '',
    flavors: flavors.length > 0 ? flavors : [ownFlavor[arch] ?? `cpu:${arch}`],
  }
}
