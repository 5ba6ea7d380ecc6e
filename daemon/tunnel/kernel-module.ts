/** A tunnel that uses the kernel's WireGuard module. */
import { messageOf } from '../../shared/errors.ts'
import { networkText } from './address.ts'
import { peerText, upLines, type Device, type Peer } from './device.ts'
import type { TunnelSettings } from './document.ts'
import type { Tools } from './tools.ts'

/** As wg(8) reads it. */
const wgConfig = (settings: TunnelSettings, peer: Peer): string =>
  [
    '[Interface]',
    `PrivateKey = ${settings.privateKey.toString('base64')}`,
    `ListenPort = ${settings.listenPort}`,
    '[Peer]',
    `PublicKey = ${settings.peerKey.toString('base64')}`,
    `Endpoint = ${peerText(peer)}`,
    `AllowedIPs = ${settings.allowed.map(networkText).join(', ')}`,
    ...(settings.keepalive > 0 ? [`PersistentKeepalive = ${settings.keepalive}`] : []),
    '',
  ].join('\n')

/** Makes the device, or returns undefined when this kernel has no WireGuard. The key is passed through a pipe only. */
export const createKernelDevice = async (
  settings: TunnelSettings,
  { tools }: { tools: Tools },
): Promise<Device | undefined> => {
  const name = settings.interface
  if (!tools.find('wg')) return undefined
  try {
    await tools.run('ip', ['link', 'add', 'dev', name, 'type', 'wireguard'])
  } catch (error) {
    if (/unknown device type|not supported/i.test(messageOf(error))) return undefined
    throw error
  }
  const remove = async () => void (await tools.run('ip', ['link', 'del', 'dev', name]))
  try {
    await tools.run('ip', ['-batch', '-'], upLines(settings))
  } catch (error) {
    await remove()
    throw error
  }
  return {
    kind: 'kernel',
    ended: new Promise(() => {}),
    remove,
    // Not /dev/stdin, which a tenant can replace.
    configurePeer: async peer =>
      void (await tools.run('wg', ['setconf', name, '/proc/self/fd/0'], wgConfig(settings, peer))),
  }
}
