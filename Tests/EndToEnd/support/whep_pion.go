// Viewers by WHEP or of Janus's streaming plugin, and a server by WHEP, all on Pion.
//
//	whep_pion receive whep|janus URL COUNT SECONDS   receives, and prints one JSON object
//	whep_pion churn URL COUNT SECONDS                so many viewers at a time come and go; prints one JSON object
//	whep_pion serve ADDRESS CLIP.ivf                 sends the frames of a file, again and again at 30 a second
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v3"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func newAPI() *webrtc.API {
	media, interceptors := &webrtc.MediaEngine{}, &interceptor.Registry{}
	check(media.RegisterDefaultCodecs())
	check(webrtc.RegisterDefaultInterceptors(media, interceptors))
	return webrtc.NewAPI(webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(interceptors))
}

func post(url string, kind string, body []byte) []byte {
	response, err := http.Post(url, kind, bytes.NewReader(body))
	check(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(err)
	if response.StatusCode >= 300 {
		panic(fmt.Sprintf("%s: %d %s", url, response.StatusCode, text))
	}
	return text
}

// A viewer: when its frames were complete.
type viewer struct {
	lock    sync.Mutex
	began   time.Time
	frames  []time.Time
	bytes   int
	packets int
}

func (viewer *viewer) receive(track *webrtc.TrackRemote) {
	buffer := make([]byte, 1600)
	for {
		count, _, err := track.Read(buffer)
		if err != nil {
			return
		}
		now := time.Now()
		viewer.lock.Lock()
		viewer.bytes += count
		viewer.packets++
		if count > 1 && buffer[1]&0x80 != 0 {
			viewer.frames = append(viewer.frames, now)
		}
		viewer.lock.Unlock()
	}
}

func (viewer *viewer) connection(api *webrtc.API) *webrtc.PeerConnection {
	connection, err := api.NewPeerConnection(webrtc.Configuration{})
	check(err)
	connection.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) { viewer.receive(track) })
	return connection
}

func (viewer *viewer) whep(api *webrtc.API, url string) *webrtc.PeerConnection {
	connection := viewer.connection(api)
	_, err := connection.AddTransceiverFromKind(
		webrtc.RTPCodecTypeVideo, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly})
	check(err)
	offer, err := connection.CreateOffer(nil)
	check(err)
	gathered := webrtc.GatheringCompletePromise(connection)
	check(connection.SetLocalDescription(offer))
	<-gathered
	viewer.began = time.Now()
	answer := post(url, "application/sdp", []byte(connection.LocalDescription().SDP))
	check(connection.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: string(answer)}))
	return connection
}

// Viewers that stay for up to a second after their first frame.
func churn(url string, count, seconds int) {
	api := newAPI()
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	var group sync.WaitGroup
	var sessions, dark int64
	arriving := make(chan struct{}, 20)
	for index := 0; index < count; index++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for time.Now().Before(end) {
				viewer := &viewer{}
				arriving <- struct{}{}
				connection := viewer.whep(api, url)
				<-arriving
				for {
					viewer.lock.Lock()
					hasFrame := len(viewer.frames) > 0
					viewer.lock.Unlock()
					if hasFrame {
						break
					}
					if time.Since(viewer.began) > 30*time.Second {
						atomic.AddInt64(&dark, 1)
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				time.Sleep(time.Duration(rand.Intn(1000)) * time.Millisecond)
				atomic.AddInt64(&sessions, 1)
				check(connection.Close())
			}
		}()
	}
	group.Wait()
	fmt.Printf("{\"event\":\"churn\",\"sessions\":%d,\"dark\":%d}\n", sessions, dark)
}

func (viewer *viewer) janus(api *webrtc.API, url string) {
	type object map[string]interface{}
	ask := func(path string, message object) object {
		message["transaction"] = strconv.Itoa(rand.Int())
		body, err := json.Marshal(message)
		check(err)
		var answer object
		check(json.Unmarshal(post(url+path, "application/json", body), &answer))
		return answer
	}
	id := func(answer object) string {
		return strconv.FormatInt(int64(answer["data"].(map[string]interface{})["id"].(float64)), 10)
	}
	viewer.began = time.Now()
	session := "/" + id(ask("", object{"janus": "create"}))
	handle := session + "/" + id(ask(session, object{"janus": "attach", "plugin": "janus.plugin.streaming"}))
	ask(handle, object{"janus": "message", "body": object{"request": "watch", "id": 1}})
	var offer string
	for offer == "" {
		response, err := http.Get(url + session + "?maxev=1")
		check(err)
		var event object
		check(json.NewDecoder(response.Body).Decode(&event))
		response.Body.Close()
		if jsep, found := event["jsep"].(map[string]interface{}); found {
			offer = jsep["sdp"].(string)
		}
	}
	connection := viewer.connection(api)
	check(connection.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: offer}))
	answer, err := connection.CreateAnswer(nil)
	check(err)
	gathered := webrtc.GatheringCompletePromise(connection)
	check(connection.SetLocalDescription(answer))
	<-gathered
	ask(handle, object{"janus": "message", "body": object{"request": "start"},
		"jsep": object{"type": "answer", "sdp": connection.LocalDescription().SDP}})
}

func percentile(values []float64, part float64) float64 {
	if len(values) == 0 {
		return -1
	}
	sort.Float64s(values)
	index := int(float64(len(values)) * part)
	if index >= len(values) {
		index = len(values) - 1
	}
	return values[index]
}

func receive(kind, url string, count, seconds int) {
	api := newAPI()
	viewers := make([]*viewer, count)
	// So many arrive at once.
	arriving := make(chan struct{}, 50)
	for index := range viewers {
		viewers[index] = &viewer{}
		go func(viewer *viewer) {
			arriving <- struct{}{}
			if kind == "janus" {
				viewer.janus(api, url)
			} else {
				viewer.whep(api, url)
			}
			<-arriving
		}(viewers[index])
	}
	deadline := time.Now().Add(60 * time.Second)
	for _, viewer := range viewers {
		for {
			viewer.lock.Lock()
			isReceiving := len(viewer.frames) > 0
			viewer.lock.Unlock()
			if isReceiving {
				break
			}
			if time.Now().After(deadline) {
				panic("not all viewers get frames")
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	// Until the senders have found their bitrates.
	time.Sleep(5 * time.Second)
	begin := time.Now()
	fmt.Println("begin")
	bytes := make([]int, count)
	for index, viewer := range viewers {
		viewer.lock.Lock()
		bytes[index] = viewer.bytes
		viewer.lock.Unlock()
	}
	time.Sleep(time.Duration(seconds) * time.Second)
	end := time.Now()
	fmt.Println("end")
	var first, frames, gaps []float64
	total := 0
	for index, viewer := range viewers {
		viewer.lock.Lock()
		first = append(first, viewer.frames[0].Sub(viewer.began).Seconds())
		total += viewer.bytes - bytes[index]
		number := 0
		var last time.Time
		for _, frame := range viewer.frames {
			if frame.Before(begin) || frame.After(end) {
				continue
			}
			number++
			if !last.IsZero() {
				gaps = append(gaps, frame.Sub(last).Seconds()*1000)
			}
			last = frame
		}
		frames = append(frames, float64(number)/float64(seconds))
		viewer.lock.Unlock()
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"mbit": float64(total) * 8 / float64(seconds) / float64(count) / 1e6, "first": percentile(first, 0.5),
		"fps": percentile(frames, 0.5), "least": percentile(frames, 0), "gap": percentile(gaps, 0.99),
	}))
}

func serve(address, clip string) {
	data, err := os.ReadFile(clip)
	check(err)
	var frames [][]byte
	for index := 32; index+12 <= len(data); {
		size := int(binary.LittleEndian.Uint32(data[index:]))
		frames = append(frames, data[index+12:index+12+size])
		index += 12 + size
	}
	track, err := webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8}, "video", "video")
	check(err)
	go func() {
		packetizer := rtp.NewPacketizer(1200, 96, 1, &codecs.VP8Payloader{EnablePictureID: true}, rtp.NewRandomSequencer(), 90000)
		begin := time.Now()
		for index := 0; ; index++ {
			time.Sleep(time.Until(begin.Add(time.Duration(index) * time.Second / 30)))
			for _, packet := range packetizer.Packetize(frames[index%len(frames)], 3000) {
				_ = track.WriteRTP(packet)
			}
		}
	}()
	api := newAPI()
	http.HandleFunc("/whep", func(writer http.ResponseWriter, request *http.Request) {
		offer, _ := io.ReadAll(request.Body)
		connection, err := api.NewPeerConnection(webrtc.Configuration{})
		check(err)
		sender, err := connection.AddTrack(track)
		check(err)
		go func() {
			buffer := make([]byte, 1500)
			for {
				if _, _, err := sender.Read(buffer); err != nil {
					return
				}
			}
		}()
		check(connection.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: string(offer)}))
		answer, err := connection.CreateAnswer(nil)
		check(err)
		gathered := webrtc.GatheringCompletePromise(connection)
		check(connection.SetLocalDescription(answer))
		<-gathered
		writer.Header().Set("Content-Type", "application/sdp")
		writer.WriteHeader(201)
		fmt.Fprint(writer, connection.LocalDescription().SDP)
	})
	panic(http.ListenAndServe(address, nil))
}

func main() {
	number := func(index int) int {
		found, err := strconv.Atoi(os.Args[index])
		check(err)
		return found
	}
	switch os.Args[1] {
	case "serve":
		serve(os.Args[2], os.Args[3])
	case "churn":
		churn(os.Args[2], number(3), number(4))
	case "receive":
		receive(os.Args[2], os.Args[3], number(4), number(5))
	}
}
