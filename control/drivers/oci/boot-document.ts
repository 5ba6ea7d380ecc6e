/** What a machine's daemon is given on its standard input. */
import type { BootDocument } from '../../../shared/wire/host.ts'
import { boundOf, configurationOf } from '../configuration.ts'
import type { MachineSpec } from '../driver.ts'
import type { Bundle } from './bundle.ts'
import type { Runtime } from './context.ts'
import type { Marker } from './marker.ts'
import type { Slot } from './net/link.ts'
import { handsOnDescriptors } from './runtime.ts'

type Seal = NonNullable<BootDocument['machine']['seal']>

/**
 * Undefined where the daemon has a place of its own. A new machine has nothing of a daemon's: what an image has in its place is not
 * believed; what was there before daemons sealed is, once.
 */
export const sealOf = (
  { runtime }: { readonly runtime: Pick<Runtime, 'name'> },
  earlier: Pick<Marker, 'sealed'> | undefined,
): Pick<Seal, 'legacy'> | undefined => (handsOnDescriptors(runtime) ? undefined : { legacy: earlier?.sealed === false })

/** Without `seal` its daemon needs none. Undefined when the bundle's daemon has no channel, or the machine is to have none. */
export const bootDocumentOf = (
  spec: MachineSpec,
  { channelPort }: Bundle,
  { gateway }: Pick<Slot, 'gateway'>,
  resolvers: readonly string[],
  seal: Pick<Seal, 'legacy'> | undefined,
): BootDocument | undefined => {
  const { id, channel, anonymous } = spec
  return channel && channelPort !== undefined
    ? {
        channel: { key: channel.key, port: channelPort, from: gateway },
        machine: {
          id,
          ...(anonymous ? { anonymous } : {}),
          ...boundOf(spec),
          ...(seal ? { seal: { key: channel.sealKey, ...seal } } : {}),
        },
        // One that is yet to be claimed reads then whom it will ask.
        ...(anonymous ? {} : { resolvers: [...resolvers] }),
        configuration: configurationOf(spec),
      }
    : undefined
}
