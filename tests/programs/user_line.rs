// SPDX-License-Identifier: MIT
// user_line.rs -- leaks behind many frames of Rust's library: a cycle of Rc, and a vector of strings.
use std::cell::RefCell;
use std::rc::Rc;

struct Node {
    next: RefCell<Option<Rc<Node>>>,
    _pad: [u8; 40],
}

#[inline(never)]
fn cycle() {
    let a = Rc::new(Node { next: RefCell::new(None), _pad: [0; 40] }); // 11
    let b = Rc::new(Node { next: RefCell::new(Some(a.clone())), _pad: [0; 40] }); // 11
    *a.next.borrow_mut() = Some(b);
}

#[inline(never)]
fn forget(n: usize) {
    let v: Vec<String> = (0..n).map(|i| format!("line {}", i)).collect();
    std::mem::forget(v);
}

fn main() {
    for _ in 0..11 {
        cycle();
    }
    forget(17);
}
