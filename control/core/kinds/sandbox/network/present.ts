/** A sandbox's network as it is answered: secrets left out, canaries masked, text where text came. */
import { mask } from '../../../records/sealing.ts'
import type { AcceptedNetwork } from './accept.ts'
import { rewrap } from './sent.ts'

export const presentNetwork = ({ network, networkTexts = [] }: AcceptedNetwork): unknown => {
  if (!network?.proxy) return network && rewrap(network, networkTexts)
  const { routing, canaries, ...proxy } = network.proxy
  const shown = {
    ...network,
    proxy: {
      ...proxy,
      ...(routing ? { routing: routing.map(route => ({ ...route, secrets: undefined })) } : {}),
      ...(canaries ? { canaries: Object.fromEntries(Object.keys(canaries).map(name => [name, mask])) } : {}),
    },
  }
  return rewrap(shown, networkTexts)
}
