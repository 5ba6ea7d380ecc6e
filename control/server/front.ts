/**
 * One port, several surfaces: hosts and paths of workloads go to the gateway, `/v0` and its like to the management API, pages
 * to people.
 */
import type { IncomingMessage } from 'node:http'
import { endRaw } from '../../shared/http/raw-answer.ts'
import { listener, type Listener } from '../../shared/http/server.ts'
import type { Dispatcher } from '../../shared/http/dispatch.ts'
import type { Log } from '../../shared/log.ts'
import { isPage } from './web/pages.ts'
import type { Previews } from './proxy/previews/serve.ts'
import type { Gateway } from './proxy/gateway/gateway.ts'
import type { People } from './web/people.ts'
import type { Turn } from '../../shared/lane/turn.ts'
import type { Calls } from './proxy/calls/calls.ts'

export interface FrontListener extends Listener {
  /** Answers a request on its connection; false for one that is for `request`. */
  take(turn: Turn): boolean
}

export const frontListener = (deps: {
  api: Dispatcher
  people: Pick<People, 'pages'>
  gateway: Gateway
  calls: Calls
  previews: Previews
  /** The address below `/v0` that an address at the root stands for. */
  rootAddress: (url: string) => string | undefined
  /** Who is at the other end. */
  remoteOf: (message: IncomingMessage) => string
  log: Log
}): FrontListener => {
  const { api, people, gateway, calls, previews, rootAddress, remoteOf, log } = deps
  const management = listener(api, { log, remoteOf })
  const pages = listener(people.pages(gateway), { log, remoteOf })
  const isManagement = (url: string | undefined): boolean => url !== undefined && /^\/v0(?=[/?]|$)/.test(url)
  return {
    take(turn) {
      const { request } = turn
      const preview = previews.addressOf(request)
      if (preview) return previews.take(preview, turn)
      if (calls.addressOf(request)) return false
      const address = gateway.addressOf(request)
      return address !== undefined && !isPage(request.url ?? '', true) && gateway.take(address, turn)
    },
    request(message, response) {
      // First: on a host name of its own every path is the application's.
      const preview = previews.addressOf(message)
      if (preview) return previews.handle(preview, message, response)
      const called = calls.addressOf(message)
      if (called) return calls.handle(called, message, response)
      const address = gateway.addressOf(message)
      if (isPage(message.url ?? '', address !== undefined)) pages.request(message, response)
      else if (address) {
        gateway.handle(address, message, response)
      } else {
        message.url = rootAddress(message.url ?? '') ?? message.url
        if (isManagement(message.url)) management.request(message, response)
        else gateway.refuse(message, response)
      }
    },
    upgrade(message, socket, head) {
      const preview = previews.addressOf(message)
      if (preview) return previews.upgrade(preview, message, socket, head)
      const called = calls.addressOf(message)
      if (called) return calls.upgrade(called, message, socket, head)
      const address = gateway.addressOf(message)
      if (address) gateway.upgrade(address, message, socket, head)
      else endRaw(socket, { status: 404 })
    },
  }
}
