//! Answers for all who ask the same within a moment: they are computed once.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::answer_threads::{ANSWER_TIME, AnswerThreads, Work, busy, panicked};
use crate::problem::Problem;
use crate::server::unless;

/// The bytes of an answer, or its error.
type Answer = Result<Bytes, Problem>;

/// The questions that clients wait for, and the answers of the last moment.
#[derive(Default)]
pub(crate) struct SharedAnswers(Arc<Mutex<Questions>>);

#[derive(Default)]
struct Questions {
    /// By path and query. A question lives while a client waits for its answer, or its answer is kept.
    asked: HashMap<String, Weak<Question>>,
    /// Answered questions, the oldest first.
    kept: VecDeque<Arc<Question>>,
    kept_bytes: usize,
}

/// One question, and its answer for everybody who waits for it.
struct Question {
    state: watch::Sender<State>,
    /// The bytes of path and query.
    text_bytes: usize,
}

#[derive(Clone)]
enum State {
    /// All clients wait for their turns. The first one whose turn comes begins.
    Waiting,
    Begun,
    /// The answer, and until when others may have it too.
    Answered(Answer, Instant),
}

/// The answer to a walk that took this time is kept, and any while others wait for theirs. A small table is read again for
/// each question.
const WORTH_KEEPING: Duration = Duration::from_millis(5);
/// An answer is kept for this time from the begin of its walk.
const KEPT_FOR: Duration = Duration::from_secs(1);
/// The bytes of all kept answers and their questions. Beyond them, the oldest are dropped.
const KEPT_BYTES: usize = 16 << 20;
/// With more questions than this beside the kept ones, those that nobody asks any more are dropped.
const IDLE_QUESTIONS: usize = 64;

impl SharedAnswers {
    /// Answers a question of a client at this address: with the answer that others wait for or have just received, or by
    /// `work` when the turn of this client comes first. `work` takes the longest time of a page. The answer to a walk may be
    /// a second old.
    pub(crate) async fn answer(
        &self,
        question: String,
        threads: &AnswerThreads,
        (kind, client): (Work, IpAddr),
        work: impl FnOnce(Duration) -> Result<Vec<u8>, Problem> + Send + 'static,
    ) -> Answer {
        let question = self.question(question, Instant::now());
        let answer = async {
            let turn = unless(question.answered(), threads.turn(kind, client)).await;
            if let Some(turn) = turn
                && let Some(begun) = question.begin()
            {
                let shared = Arc::clone(&self.0);
                let (is_walk, others_wait) = (kind != Work::Short, turn.others_wait());
                turn.spawn(move |page_time| {
                    let start = Instant::now();
                    let answer = work(page_time).map(Bytes::from);
                    let is_worth_it = others_wait || start.elapsed() >= WORTH_KEEPING;
                    let is_kept = is_walk && is_worth_it;
                    let question = begun.answer(answer, is_kept.then_some(start));
                    if is_kept {
                        lock(&shared).keep(question);
                    }
                });
            }
            question.answered().await
        };
        match timeout(ANSWER_TIME, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(busy()),
        }
    }

    /// Drops the answers whose time is over, so that they use no memory while nobody asks.
    pub(crate) fn drop_old(&self) {
        lock(&self.0).drop_old(Instant::now());
    }

    /// Returns the question that others ask at the moment, or a new one.
    fn question(&self, text: String, now: Instant) -> Arc<Question> {
        let mut questions = lock(&self.0);
        questions.drop_old(now);
        if questions.asked.len() > IDLE_QUESTIONS + 2 * questions.kept.len() {
            questions.asked.retain(|_, one| one.strong_count() > 0);
        }
        let asked = questions.asked.get(&text).and_then(Weak::upgrade);
        // A client that takes an old answer at this moment still holds its question.
        if let Some(question) = asked.filter(|one| !one.is_old(now)) {
            return question;
        }
        let question = Arc::new(Question {
            state: watch::Sender::new(State::Waiting),
            text_bytes: text.len(),
        });
        questions.asked.insert(text, Arc::downgrade(&question));
        question
    }
}

fn lock(questions: &Mutex<Questions>) -> MutexGuard<'_, Questions> {
    // No thread panics while it holds the lock.
    questions.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Questions {
    fn keep(&mut self, question: Arc<Question>) {
        let bytes = question.bytes();
        if bytes > KEPT_BYTES {
            return;
        }
        self.kept_bytes += bytes;
        self.kept.push_back(question);
        while self.kept_bytes > KEPT_BYTES {
            self.drop_first();
        }
    }

    fn drop_old(&mut self, now: Instant) {
        while self.kept.front().is_some_and(|first| first.is_old(now)) {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        let first = self.kept.pop_front();
        self.kept_bytes -= first.map_or(0, |first| first.bytes());
    }
}

impl Question {
    /// Waits for the answer.
    async fn answered(&self) -> Answer {
        let mut state = self.state.subscribe();
        let answered = state.wait_for(|state| matches!(state, State::Answered(..)));
        match answered.await.as_deref() {
            Ok(State::Answered(answer, _)) => answer.clone(),
            // The sender lives as long as `self`.
            _ => Err(panicked()),
        }
    }

    /// Begins to compute, unless another client has begun.
    fn begin(self: &Arc<Self>) -> Option<Begun> {
        let is_first = self.state.send_if_modified(|state| {
            let is_first = matches!(state, State::Waiting);
            if is_first {
                *state = State::Begun;
            }
            is_first
        });
        is_first.then(|| Begun(Some(Arc::clone(self))))
    }

    fn is_old(&self, now: Instant) -> bool {
        match &*self.state.borrow() {
            State::Answered(_, until) => now >= *until,
            State::Waiting | State::Begun => false,
        }
    }

    fn bytes(&self) -> usize {
        match &*self.state.borrow() {
            State::Answered(Ok(bytes), _) => self.text_bytes + bytes.len(),
            _ => self.text_bytes,
        }
    }

    /// Answers. Others may have the answer for a moment from `since` on, when the walk looked at the table.
    fn answer(&self, answer: Answer, since: Option<Instant>) {
        let until = since.map_or_else(Instant::now, |since| since + KEPT_FOR);
        self.state.send_replace(State::Answered(answer, until));
    }
}

/// A question whose answer is being computed. Without an answer, because the thread panicked, it is answered by an error.
struct Begun(Option<Arc<Question>>);

impl Begun {
    fn answer(mut self, answer: Answer, since: Option<Instant>) -> Arc<Question> {
        let question = self.0.take().expect("it is answered once");
        question.answer(answer, since);
        question
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(question) = self.0.take() {
            question.answer(Err(panicked()), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Barrier, mpsc};
    use std::thread;

    use tokio::task::JoinSet;

    use super::*;

    /// Shared answers, and the number of those that were computed.
    #[derive(Clone)]
    struct Server {
        shared: Arc<SharedAnswers>,
        threads: Arc<AnswerThreads>,
        computed: Arc<AtomicUsize>,
    }

    impl Server {
        fn new() -> Self {
            Server {
                shared: Arc::default(),
                threads: Arc::new(AnswerThreads::new()),
                computed: Arc::default(),
            }
        }

        /// A client, which has an address of its own, asks.
        async fn ask(
            &self,
            client: u8,
            question: &str,
            kind: Work,
            work: impl FnOnce() -> Vec<u8> + Send + 'static,
        ) -> Answer {
            let asked = (kind, Ipv4Addr::new(192, 0, 2, client).into());
            let computed = Arc::clone(&self.computed);
            let work = move |_| {
                computed.fetch_add(1, Ordering::Relaxed);
                Ok(work())
            };
            let question = question.to_owned();
            self.shared
                .answer(question, &self.threads, asked, work)
                .await
        }

        fn computed(&self) -> usize {
            self.computed.load(Ordering::Relaxed)
        }

        fn kept_bytes(&self) -> usize {
            lock(&self.shared.0).kept_bytes
        }
    }

    fn run(test: impl Future<Output = ()>) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().build().unwrap().block_on(test);
    }

    #[test]
    fn clients_that_ask_the_same_receive_one_answer() {
        run(async {
            let server = Server::new();
            let all_ask = Arc::new(Barrier::new(2));
            let mut clients = JoinSet::new();
            for client in 0..100 {
                let (server, all_ask) = (server.clone(), Arc::clone(&all_ask));
                clients.spawn(async move {
                    let work = move || {
                        all_ask.wait();
                        b"peers".to_vec()
                    };
                    server.ask(client, "/peers?", Work::Short, work).await
                });
            }
            // Another question does not wait for this one.
            let other = server.ask(200, "/status?", Work::Short, || b"status".to_vec());
            assert_eq!(other.await, Ok(Bytes::from("status")));
            thread::spawn(move || all_ask.wait());
            let answers = clients.join_all().await;
            assert!(
                answers
                    .iter()
                    .all(|answer| *answer == Ok(Bytes::from("peers")))
            );
            assert_eq!((answers.len(), server.computed()), (100, 2));
            // A short answer is always new.
            let again = server.ask(1, "/peers?", Work::Short, || b"new".to_vec());
            assert_eq!(again.await, Ok(Bytes::from("new")));
            assert_eq!(server.kept_bytes(), 0);
        });
    }

    #[test]
    fn a_client_whose_turn_comes_first_computes_for_all() {
        run(async {
            let server = Server::new();
            // One network uses its share, and asks the question of the other one first.
            let (end, ended) = mpsc::channel::<()>();
            let ended = Arc::new(Mutex::new(ended));
            let mut clients = JoinSet::new();
            for question in ["/a?", "/b?"] {
                let (server, ended) = (server.clone(), Arc::clone(&ended));
                clients.spawn(async move {
                    let work = move || {
                        let _ = ended.lock().unwrap().recv();
                        Vec::new()
                    };
                    server.ask(1, question, Work::Walk, work).await
                });
            }
            tokio::task::yield_now().await;
            let busy = server.clone();
            clients.spawn(async move { busy.ask(1, "/c?", Work::Walk, Vec::new).await });
            tokio::task::yield_now().await;
            let other = server.ask(2, "/c?", Work::Walk, || b"c".to_vec()).await;
            assert_eq!(other, Ok(Bytes::from("c")));
            let first = clients.join_next().await.unwrap().unwrap();
            assert_eq!(first, other, "the busy network waits for nothing any more");
            drop(end);
            clients.join_all().await;
        });
    }

    #[test]
    fn long_walks_are_kept_for_a_moment_and_within_a_limit() {
        run(async {
            let server = Server::new();
            let walk = |bytes| {
                move || {
                    thread::sleep(WORTH_KEEPING);
                    vec![0; bytes]
                }
            };
            let start = Instant::now();
            let first = server
                .ask(1, "/routes?", Work::Walk, walk(KEPT_BYTES / 2))
                .await;
            // The thread may keep it after the client has it.
            while server.kept_bytes() == 0 {
                thread::yield_now();
            }
            let again = server.shared.question("/routes?".to_owned(), start);
            assert_eq!(again.answered().await, first);
            drop(again);
            let later = Instant::now() + KEPT_FOR;
            let later = server.shared.question("/routes?".to_owned(), later);
            assert!(matches!(*later.state.borrow(), State::Waiting));
            for question in ["/b?", "/c?", "/d?"] {
                let answer = server.ask(1, question, Work::Walk, walk(KEPT_BYTES / 2));
                answer.await.unwrap();
            }
            let longer = server.ask(1, "/e?", Work::Walk, walk(KEPT_BYTES + 1)).await;
            assert!(longer.is_ok() && server.kept_bytes() <= KEPT_BYTES);
        });
    }

    #[test]
    fn a_thread_that_panics_answers_everybody() {
        run(async {
            let server = Server::new();
            let answer = server.ask(1, "/routes?", Work::Walk, || panic!("as the test wants"));
            assert_eq!(answer.await, Err(panicked()));
            let next = server
                .ask(1, "/routes?", Work::Walk, || b"well".to_vec())
                .await;
            assert_eq!(next, Ok(Bytes::from("well")));
        });
    }

    #[test]
    fn questions_that_nobody_asks_any_more_are_dropped() {
        let server = Server::new();
        for number in 0..10 * IDLE_QUESTIONS {
            server
                .shared
                .question(format!("/lookup/{number}?"), Instant::now());
        }
        assert!(lock(&server.shared.0).asked.len() <= IDLE_QUESTIONS + 1);
    }
}
