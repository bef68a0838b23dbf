// A WHIP endpoint on Pion: counts packets and frames, and asks for a key frame each second; one JSON object a line.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v3"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func receive(connection *webrtc.PeerConnection, track *webrtc.TrackRemote) {
	var packets, keys, frames uint64
	go func() {
		for range time.Tick(time.Second) {
			fmt.Printf("{\"event\":\"stats\",\"packets\":%d,\"frames\":%d,\"keys\":%d}\n", atomic.LoadUint64(&packets),
				atomic.LoadUint64(&frames), atomic.LoadUint64(&keys))
			if connection.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(track.SSRC())}}) != nil {
				return
			}
		}
	}()
	for {
		packet, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		atomic.AddUint64(&packets, 1)
		if packet.Marker {
			atomic.AddUint64(&frames, 1)
		}
		// VP8: the first packet of a frame whose first bit says that it needs no other.
		if len(packet.Payload) > 4 && packet.Payload[0]&0x10 != 0 && packet.Payload[4]&1 == 0 {
			atomic.AddUint64(&keys, 1)
		}
	}
}

func main() {
	media, interceptors := &webrtc.MediaEngine{}, &interceptor.Registry{}
	check(media.RegisterDefaultCodecs())
	check(webrtc.RegisterDefaultInterceptors(media, interceptors))
	check(webrtc.ConfigureTWCCSender(media, interceptors))
	api := webrtc.NewAPI(webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(interceptors))
	var connection *webrtc.PeerConnection
	http.HandleFunc("/whip", func(writer http.ResponseWriter, request *http.Request) {
		offer, _ := io.ReadAll(io.LimitReader(request.Body, 65536))
		var err error
		connection, err = api.NewPeerConnection(webrtc.Configuration{})
		check(err)
		connection.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) { receive(connection, track) })
		err = connection.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: string(offer)})
		if err != nil {
			http.Error(writer, err.Error(), 400)
			return
		}
		gathered := webrtc.GatheringCompletePromise(connection)
		answer, err := connection.CreateAnswer(nil)
		check(err)
		check(connection.SetLocalDescription(answer))
		<-gathered
		writer.Header().Set("Content-Type", "application/sdp")
		writer.Header().Set("Location", "/whip/1")
		writer.WriteHeader(201)
		fmt.Fprint(writer, connection.LocalDescription().SDP)
	})
	http.HandleFunc("/whip/1", func(_ http.ResponseWriter, request *http.Request) {
		if request.Method == "DELETE" && connection != nil {
			fmt.Println("{\"event\":\"delete\"}")
			_ = connection.Close()
		}
	})
	panic(http.ListenAndServe(os.Args[1], nil))
}
