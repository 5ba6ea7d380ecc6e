/** The channel on gVisor, with what its daemon's clients get through the gateway. */
import './channel-gvisor.test.ts'
