/** One port, several surfaces: sandbox hosts and paths go to the gateway, `/v0` to the management API. */
import type { Server } from 'node:http'
import { endRaw } from '../shared/http/raw-answer.ts'
import { listener, serveWith } from '../shared/http/server.ts'
import type { Dispatcher } from '../shared/http/dispatch.ts'
import type { Log } from '../shared/log.ts'
import type { Gateway } from './gateway/gateway.ts'

export const frontServer = (deps: { api: Dispatcher; gateway: Gateway; log: Log }): Server => {
  const { api, gateway, log } = deps
  const management = listener(api, { log })
  const isManagement = (url: string | undefined) => url !== undefined && /^\/v0(?=[/?]|$)/.test(url)
  return serveWith({
    request(message, response) {
      const address = gateway.addressOf(message)
      if (address) gateway.handle(address, message, response)
      else if (isManagement(message.url)) management.request(message, response)
      else gateway.refuse(message, response)
    },
    upgrade(message, socket, head) {
      const address = gateway.addressOf(message)
      if (address) gateway.upgrade(address, message, socket, head)
      else endRaw(socket, { status: 404 })
    },
  })
}
